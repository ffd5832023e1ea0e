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
  /** Host names of the name servers: the registrar delegates to them, and each zone has NS records for them. */
  nameServers: readonly string[];
  /**
   * Status of a new zone. Default "active": no proof of ownership is required on a private server. "pending" if a
   * delegation check calls setStatus.
   */
  firstStatus?: ZoneStatus;
  /** Maximum number of records per zone. Default null: unlimited. */
  recordQuota?: number | null;
}

export interface Zones extends ZoneList {
  records: Records;
  /** The data source for startDnsServer. */
  served: ServedZones;
  /** Resolves with the account of a zone, or undefined if the zone does not exist. Usually cached. */
  zoneAccount(zone: string): Promise<string | undefined>;
  /** The same, if it is cached. */
  cachedZoneAccount(zone: string): string | undefined;
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
  const { account, cachedAccount, close, ...list } = createZoneList({
    db,
    clock,
    ids,
    events,
    nameServers,
    firstStatus,
  });
  const versions = createVersions({ events, topic: RECORDS_CHANGED, alone: !db.isShared });
  // The DNS server caches only for seconds, so notifications from other processes suffice.
  const hintedVersions = db.isShared ? createVersions({ events, topic: RECORDS_CHANGED, alone: true }) : versions;
  return {
    ...list,
    served: createServedZones({ db, version: hintedVersions.of }),
    records: createRecords({ db, clock, ids, versions, quota: recordQuota }),
    zoneAccount: account,
    cachedZoneAccount: cachedAccount,
    close() {
      versions.close();
      hintedVersions.close();
      close();
    },
  };
}
