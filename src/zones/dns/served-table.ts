import { prepareQuery, type Db } from "../../store/index.ts";
import { reverseLabels } from "../records/records-table.ts";
import type { RecordSettings } from "../records/types.ts";
import type { ZoneTables } from "../tables.ts";

export interface ServedRow {
  type: string;
  name: string;
  content: string;
  priority: number | null;
  ttl: number;
  settings: string | null;
}

/** Database reads of the DNS server: each is a single index lookup. */
export function createServedReads(db: Db) {
  const tables = db.tables<ZoneTables>();
  // "." and "/" are adjacent characters: the range between them holds the names below.
  const selectDescendants = prepareQuery((arg) =>
    tables
      .selectFrom("dns_records")
      .select("type")
      .where("zone_id", "=", arg<string>("zone"))
      .where("reversed", ">=", arg<string>("from"))
      .where("reversed", "<", arg<string>("to"))
      .limit(1),
  );
  const prepareZones = (names: number) =>
    prepareQuery((arg) =>
      tables
        .selectFrom("zones")
        .select(["id", "name", "type", "serial", "name_servers", "vanity_name_servers"])
        .where(
          "name",
          "in",
          Array.from({ length: names }, (_, i) => arg<string>(`${i}`)),
        ),
    );
  const zonesQueries = new Map<number, ReturnType<typeof prepareZones>>();
  const selectAt = prepareQuery((arg) =>
    tables
      .selectFrom("dns_records")
      .select("type")
      .where("zone_id", "=", arg<string>("zone"))
      .where("reversed", "=", arg<string>("name"))
      .limit(1),
  );

  return {
    records: (zone: string, names: readonly string[]): Promise<ServedRow[]> =>
      db.read(
        tables
          .selectFrom("dns_records")
          .select(["type", "name", "content", "priority", "ttl", "settings"])
          .where("zone_id", "=", zone)
          .where("name", "in", names),
      ),
    async occupied(zone: string, name: string): Promise<boolean> {
      const path = reverseLabels(name);
      if ((await db.read(selectAt({ zone, name: path }))).length > 0) return true;
      return (await db.read(selectDescendants({ zone, from: `${path}.`, to: `${path}/` }))).length > 0;
    },
    /** Runs for each lookup of a name outside the served zones. A name has at most 127 labels, which bounds the queries. */
    zones(names: readonly string[]) {
      const query = zonesQueries.getOrInsertComputed(names.length, prepareZones);
      return db.read(query({ ...names }));
    },
  };
}

export const isFlattened = (settings: string | null): boolean =>
  settings !== null && (JSON.parse(settings) as RecordSettings).flatten_cname === true;
