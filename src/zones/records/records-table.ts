import { sql, type Compilable, type Insertable } from "kysely";
import { prepareQuery } from "../../store/index.ts";
import type { RecordType } from "../../protocol/dns/index.ts";
import type { ZonesExecutor, ZoneTables } from "../tables.ts";
import { recordDigest } from "./check.ts";
import type { DnsRecord, RecordSettings } from "./types.ts";

const CONTENT_KEY_LENGTH = 120;
export const contentKey = (content: string): string => content.toLowerCase().slice(0, CONTENT_KEY_LENGTH);

type Row = ZoneTables["dns_records"];
type RecordRow = Omit<Row, "content_key" | "comment_key" | "digest" | "reversed">;

/** All columns except those used for sorting and searching. */
export const RECORD_COLUMNS = [
  "id",
  "zone_id",
  "account_id",
  "type",
  "name",
  "content",
  "written",
  "priority",
  "data",
  "ttl",
  "proxied",
  "private_routing",
  "settings",
  "comment",
  "comment_at",
  "tags",
  "tags_at",
  "created_at",
  "modified_at",
  "managed_by",
  "locked",
  "meta",
] as const satisfies (keyof Row)[];

/** Runs a read: through Kysely, as in a transaction, or through the prepared `db.read`. */
export type RunQuery = <Found>(query: Compilable<Found>) => Promise<Found[]>;
const createReader =
  (tables: ZonesExecutor): RunQuery =>
  async (query) =>
    (await tables.executeQuery(query.compile())).rows;

export const recordById = (tables: ZonesExecutor, read = createReader(tables)) => {
  const find = prepareQuery((arg) =>
    tables
      .selectFrom("dns_records")
      .select(RECORD_COLUMNS)
      .where("id", "=", arg<string>("id"))
      .where("zone_id", "=", arg<string>("zone")),
  );
  return async (zone: string, id: string): Promise<DnsRecord | undefined> => {
    const [row] = await read(find({ id, zone }));
    return row && toRecord(row);
  };
};

/** Maximum number of rows per INSERT: SQLite accepts at most 32,766 parameters. */
const ROWS_AT_ONCE = 500;

export async function insertRecords(tx: ZonesExecutor, records: readonly DnsRecord[]): Promise<void> {
  for (let at = 0; at < records.length; at += ROWS_AT_ONCE) {
    await tx
      .insertInto("dns_records")
      .values(records.slice(at, at + ROWS_AT_ONCE).map(toRow))
      .execute();
  }
  await insertTags(tx, records);
  for (const [zone, chunk] of Map.groupBy(records, ({ zone }) => zone)) {
    for (const [type, { length }] of Map.groupBy(chunk, ({ type }) => type)) await count(tx, zone, type, length);
  }
}

export async function updateRecord(tx: ZonesExecutor, before: DnsRecord, record: DnsRecord): Promise<void> {
  const { id, zone_id, ...row } = toRow(record);
  await tx.updateTable("dns_records").set(row).where("id", "=", id).where("zone_id", "=", zone_id).execute();
  if (JSON.stringify(before.tags) !== JSON.stringify(record.tags)) {
    await tx.deleteFrom("dns_record_tags").where("zone_id", "=", zone_id).where("record_id", "=", id).execute();
    await insertTags(tx, [record]);
  }
  if (before.type !== record.type) {
    await count(tx, zone_id, before.type, -1);
    await count(tx, zone_id, record.type, 1);
  }
}

export async function deleteRecord(tx: ZonesExecutor, { zone, id, type, tags }: DnsRecord): Promise<void> {
  await tx.deleteFrom("dns_records").where("id", "=", id).where("zone_id", "=", zone).execute();
  if (tags.length > 0)
    await tx.deleteFrom("dns_record_tags").where("zone_id", "=", zone).where("record_id", "=", id).execute();
  await count(tx, zone, type, -1);
}

/**
 * Increments the zone's serial, which signals a change to resolvers and secondaries. Resolves with false if the zone
 * does not exist.
 */
export async function bumpSerial(tx: ZonesExecutor, zone: string): Promise<boolean> {
  const rows = await tx
    .updateTable("zones")
    .set({ serial: sql<number>`serial + 1` })
    .where("id", "=", zone)
    .returning("id")
    .execute();
  return rows.length > 0;
}

async function insertTags(tx: ZonesExecutor, records: readonly DnsRecord[]): Promise<void> {
  const rows = records.flatMap(({ zone, id, tags }) =>
    tags.map((tag) => ({ zone_id: zone, record_id: id, ...tagParts(tag) })),
  );
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    await tx
      .insertInto("dns_record_tags")
      .values(rows.slice(at, at + ROWS_AT_ONCE))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** Lower-case parts of a tag, for searching. */
function tagParts(tag: string): { name: string; value: string } {
  const at = tag.indexOf(":");
  return {
    name: (at === -1 ? tag : tag.slice(0, at)).toLowerCase(),
    value: at === -1 ? "" : tag.slice(at + 1).toLowerCase(),
  };
}

async function count(tx: ZonesExecutor, zone: string, type: string, delta: number): Promise<void> {
  await tx
    .insertInto("dns_record_counts")
    .values({ zone_id: zone, type, records: delta })
    .onConflict((conflict) =>
      conflict.columns(["zone_id", "type"]).doUpdateSet({ records: sql<number>`dns_record_counts.records + ${delta}` }),
    )
    .execute();
}

/** Counts by type; their sum is the number of records in the zone. */
export const recordCounts = (tables: ZonesExecutor, read = createReader(tables)) => {
  const find = prepareQuery((arg) =>
    tables.selectFrom("dns_record_counts").select(["type", "records"]).where("zone_id", "=", arg<string>("zone")),
  );
  return async (zone: string): Promise<Map<string, number>> =>
    new Map((await read(find({ zone }))).map(({ type, records }) => [type, records]));
};

export const sumOf = (counts: Map<string, number>): number =>
  [...counts.values()].reduce((sum, records) => sum + records, 0);

export const reverseLabels = (name: string): string => name.split(".").reverse().join(".");

const json = (value: object | null): string | null =>
  value === null || (Array.isArray(value) && value.length === 0) ? null : JSON.stringify(value);

const toRow = (record: DnsRecord): Insertable<Row> & Row => ({
  id: record.id,
  zone_id: record.zone,
  account_id: record.account,
  type: record.type,
  name: record.name,
  reversed: reverseLabels(record.name),
  content: record.content,
  written: record.written,
  content_key: contentKey(record.content),
  digest: recordDigest(record),
  priority: record.priority,
  data: json(record.data),
  ttl: record.ttl,
  proxied: Number(record.proxied),
  private_routing: Number(record.privateRouting),
  settings: json(record.settings),
  comment: record.comment,
  comment_key: record.comment?.toLowerCase() ?? null,
  comment_at: record.commentAt,
  tags: json(record.tags),
  tags_at: record.tagsAt,
  created_at: record.createdAt,
  modified_at: record.modifiedAt,
  managed_by: record.managedBy,
  locked: Number(record.locked),
  meta: json(record.meta),
});

export const toRecord = (row: RecordRow): DnsRecord => ({
  id: row.id,
  zone: row.zone_id,
  account: row.account_id,
  type: row.type as RecordType,
  name: row.name,
  content: row.content,
  written: row.written,
  priority: row.priority,
  data: row.data === null ? null : (JSON.parse(row.data) as Record<string, unknown>),
  ttl: row.ttl,
  proxied: row.proxied === 1,
  privateRouting: row.private_routing === 1,
  settings: row.settings === null ? null : (JSON.parse(row.settings) as RecordSettings),
  comment: row.comment,
  commentAt: row.comment_at,
  tags: row.tags === null ? [] : (JSON.parse(row.tags) as string[]),
  tagsAt: row.tags_at,
  createdAt: row.created_at,
  modifiedAt: row.modified_at,
  managedBy: row.managed_by,
  locked: row.locked === 1,
  meta: row.meta === null ? null : (JSON.parse(row.meta) as Record<string, unknown>),
});
