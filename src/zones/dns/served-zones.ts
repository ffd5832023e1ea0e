import { ancestors, type RecordType } from "../../protocol/dns/index.ts";
import type { Db } from "../../store/index.ts";
import { dataOf } from "../records/content.ts";
import { createServedReads, isFlattened, type ServedRow } from "./served-table.ts";
import type { ServedRecord, ServedZone, ServedZones } from "./served.ts";

interface ServedZonesDeps {
  db: Db;
  /** Version of a zone's records; see Records.version. */
  version(zone: string): number | undefined;
}

/** Creates zones in the database. Zones whose records are on another server ("partial") are not served. */
export function createServedZones({ db, version }: ServedZonesDeps): ServedZones {
  const reads = createServedReads(db);
  return {
    version,
    async find(name) {
      const rows = await reads.zones([name, ...ancestors(name)]);
      const nearestZone = rows.sort((a, b) => b.name.length - a.name.length)[0];
      return nearestZone === undefined || nearestZone.type !== "full" ? undefined : zoneOf(nearestZone);
    },
    records: async (zone, names) => (await reads.records(zone.id, names)).map(toServed),
    occupied: (zone, name) => reads.occupied(zone.id, name),
  };
}

function zoneOf({
  id,
  name,
  serial,
  name_servers,
  vanity_name_servers,
}: {
  id: string;
  name: string;
  serial: number;
  name_servers: string;
  vanity_name_servers: string;
}): ServedZone {
  const vanityServers = JSON.parse(vanity_name_servers) as string[];
  return {
    id,
    name,
    serial,
    nameServers: vanityServers.length > 0 ? vanityServers : (JSON.parse(name_servers) as string[]),
  };
}

function toServed({ type, name, content, priority, ttl, settings }: ServedRow): ServedRecord {
  const recordType = type as RecordType;
  return {
    name,
    type: recordType,
    ttl,
    data: dataOf({ type: recordType, content, priority }),
    flatten: isFlattened(settings),
  };
}
