import type { Clock, Ids } from "../kernel/index.ts";
import { createVersions, type Db, type Events } from "../store/index.ts";
import type { ServedZones } from "./dns/served.ts";
import { createServedZones } from "./dns/served-zones.ts";
import { RECORDS_CHANGED } from "./records/change.ts";
import { createRecords, type Records } from "./records/records.ts";
import type { ZoneStatus } from "./types.ts";
import { createZoneList, type ZoneList } from "./zones.ts";

export interface ZonesOptions {
  db: Db;
  clock: Clock;
  ids: Ids;
  events: Events;
  /** Hosts that serve the zones: what a registrar is told, and the NS records of every zone. */
  nameServers: readonly string[];
  /** Of a new zone. Default "active": nothing has to be proved to one's own server. "pending" where something looks at delegations and calls setStatus. */
  firstStatus?: ZoneStatus;
  /** Records of one zone at most. Default null: as many as the disk takes. */
  recordQuota?: number | null;
}

export interface Zones extends ZoneList {
  records: Records;
  /** For startDnsServer. */
  served: ServedZones;
  /** The account of a zone, or undefined when there is no such zone. Answered from memory as a rule. */
  zoneAccount(zone: string): Promise<string | undefined>;
  close(): void;
}

export function createZones({
  db,
  clock,
  ids,
  events,
  nameServers,
  firstStatus = "active",
  recordQuota = null,
}: ZonesOptions): Zones {
  const { account, close, ...list } = createZoneList({ db, clock, ids, events, nameServers, firstStatus });
  const versions = createVersions({ events, topic: RECORDS_CHANGED, alone: db.dialect === "sqlite" });
  // The DNS server keeps nothing for longer than seconds, so for it a hint of another process is enough.
  const hinted = db.dialect === "sqlite" ? versions : createVersions({ events, topic: RECORDS_CHANGED, alone: true });
  return {
    ...list,
    served: createServedZones({ db, version: hinted.of }),
    records: createRecords({ db, clock, ids, versions, quota: recordQuota }),
    zoneAccount: account,
    close() {
      versions.close();
      hinted.close();
      close();
    },
  };
}
