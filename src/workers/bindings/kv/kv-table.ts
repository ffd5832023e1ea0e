import { sql, type Kysely } from "kysely";
import { prepareQuery, type Db, type Migration } from "../../../store/index.ts";
import { namespaceMigration } from "./namespaces-table.ts";

/**
 * Keys are stored as their UTF-8 bytes: lists use that order, both engines have it without a collation, and PostgreSQL
 * would reject U+0000 in text. A value is in `value` or, if it is large, in the object store under `object_key`.
 */
interface KvTables {
  kv_entries: {
    namespace_id: string;
    key: Uint8Array;
    /** Epoch milliseconds. */
    expires_at: number | null;
    /** JSON. */
    metadata: string | null;
    /** Bytes of the value. */
    size: number;
    object_key: string | null;
    /**
     * Value of `object_key` before the last write: lets one statement write the new row and return the object that has
     * become garbage.
     */
    replaced_object: string | null;
    value: Uint8Array | null;
  };
}

export const kvMigrations: Migration[] = [
  {
    name: "workers-kv-001",
    async up(db, types) {
      const bytes = sql.raw(types.bytes);
      const table = db.schema
        .createTable("kv_entries")
        .addColumn("namespace_id", sql.raw(types.keyText), (column) => column.notNull())
        .addColumn("key", bytes, (column) => column.notNull())
        .addColumn("expires_at", "bigint")
        .addColumn("metadata", "text")
        .addColumn("size", "bigint", (column) => column.notNull())
        .addColumn("object_key", sql.raw(types.keyText))
        .addColumn("replaced_object", sql.raw(types.keyText))
        // This column comes last, so that a list never reads a value's overflow pages.
        .addColumn("value", bytes)
        .addPrimaryKeyConstraint("kv_entries_key", ["namespace_id", "key"]);
      // One tree to write instead of two. PostgreSQL has no equivalent.
      await (types.bytes === "blob" ? table.modifyEnd(sql`without rowid`) : table).execute();
      await db.schema
        .createIndex("kv_entries_expiry")
        .on("kv_entries")
        .columns(["expires_at", "namespace_id", "key"])
        .where(sql.ref("expires_at"), "is not", null)
        .execute();
      await db.schema
        .createIndex("kv_entries_object")
        .on("kv_entries")
        .column("object_key")
        .where(sql.ref("object_key"), "is not", null)
        .execute();
    },
  },
  namespaceMigration,
];

export interface KvRow {
  namespace: string;
  key: Buffer;
  expiresAt: number | null;
  metadata: string | null;
  size: number;
  objectKey: string | null;
  value: Uint8Array | null;
}

export type KvKey = Pick<KvRow, "key" | "expiresAt" | "metadata">;

export interface KvTable {
  /**
   * Resolves with the object of the previous row once the write is durable; the write shares a commit with other
   * writes.
   */
  put(row: KvRow): Promise<string | undefined>;
  /** Like put(), for a deletion. */
  delete(namespace: string, key: Buffer): Promise<string | undefined>;
  /** Treats expired rows as absent. */
  get(namespace: string, key: Buffer, now: number): Promise<KvRow | undefined>;
  getMany(namespace: string, keys: Buffer[], now: number): Promise<KvRow[]>;
  /** At most `limit` keys from `from` (inclusive) up to `to` (exclusive), in byte order. */
  list(
    namespace: string,
    range: { from: Buffer; to: Buffer | undefined },
    limit: number,
    now: number,
  ): Promise<KvKey[]>;
  /** Removes up to `limit` expired rows; resolves with their number and objects. */
  deleteExpired(now: number, limit: number): Promise<{ count: number; objects: string[] }>;
  /** Removes up to `limit` rows of a namespace, including expired ones; resolves with their number and objects. */
  deleteSome(namespace: string, limit: number): Promise<{ count: number; objects: string[] }>;
  /** Resolves with the subset of these objects that a row references. */
  referenced(objectKeys: string[]): Promise<Set<string>>;
}

export function createKvTable(db: Db): KvTable {
  const tables = db.tables<KvTables>();
  const put = prepareQuery((arg) =>
    tables
      .insertInto("kv_entries")
      .values({
        namespace_id: arg("namespace"),
        key: arg("key"),
        expires_at: arg("expiresAt"),
        metadata: arg("metadata"),
        size: arg("size"),
        object_key: arg("objectKey"),
        replaced_object: null,
        value: arg("value"),
      })
      .onConflict((conflict) =>
        conflict.columns(["namespace_id", "key"]).doUpdateSet((row) => ({
          expires_at: row.ref("excluded.expires_at"),
          metadata: row.ref("excluded.metadata"),
          size: row.ref("excluded.size"),
          replaced_object: row.ref("kv_entries.object_key"),
          object_key: row.ref("excluded.object_key"),
          value: row.ref("excluded.value"),
        })),
      )
      .returning("replaced_object"),
  );
  const remove = prepareQuery((arg) =>
    tables
      .deleteFrom("kv_entries")
      .where("namespace_id", "=", arg<string>("namespace"))
      .where("key", "=", arg<Buffer>("key"))
      .returning("object_key"),
  );
  const get = prepareQuery((arg) =>
    selectLive(tables, arg("namespace"), arg("now")).where("key", "=", arg<Buffer>("key")).selectAll(),
  );

  return {
    async put(row) {
      const { rows } = await db.write(put({ ...row }));
      return rows[0]?.replaced_object ?? undefined;
    },
    async delete(namespace, key) {
      const { rows } = await db.write(remove({ namespace, key }));
      return rows[0]?.object_key ?? undefined;
    },
    async get(namespace, key, now) {
      const { rows } = await tables.executeQuery(get({ namespace, key, now }).compile());
      return rows[0] && fromRow(rows[0]);
    },
    async getMany(namespace, keys, now) {
      if (keys.length === 0) return [];
      return (await selectLive(tables, namespace, now).where("key", "in", keys).selectAll().execute()).map(fromRow);
    },
    async list(namespace, { from, to }, limit, now) {
      let query = selectLive(tables, namespace, now)
        .where("key", ">=", from)
        .select(["key", "expires_at", "metadata"])
        .orderBy("key")
        .limit(limit);
      if (to) query = query.where("key", "<", to);
      return (await query.execute()).map(({ key, expires_at, metadata }) => ({
        key: toBuffer(key),
        expiresAt: expires_at,
        metadata,
      }));
    },
    async deleteExpired(now, limit) {
      const { rows } = await db.write(
        tables
          .deleteFrom("kv_entries")
          .where(({ eb, refTuple, selectFrom }) =>
            eb(
              refTuple("namespace_id", "key"),
              "in",
              selectFrom("kv_entries")
                .select(["namespace_id", "key"])
                .where("expires_at", "<=", now)
                .orderBy("expires_at")
                .limit(limit)
                .$asTuple("namespace_id", "key"),
            ),
          )
          // Checked again: on PostgreSQL the row may have been rewritten since the inner query ran.
          .where("expires_at", "<=", now)
          .returning("object_key"),
      );
      return { count: rows.length, objects: rows.flatMap(({ object_key }) => object_key ?? []) };
    },
    async deleteSome(namespace, limit) {
      const { rows } = await db.write(
        tables
          .deleteFrom("kv_entries")
          .where("namespace_id", "=", namespace)
          .where("key", "in", (query) =>
            query
              .selectFrom("kv_entries")
              .select("key")
              .where("namespace_id", "=", namespace)
              .orderBy("key")
              .limit(limit),
          )
          .returning("object_key"),
      );
      return { count: rows.length, objects: rows.flatMap(({ object_key }) => object_key ?? []) };
    },
    async referenced(objectKeys) {
      if (objectKeys.length === 0) return new Set();
      const rows = await tables
        .selectFrom("kv_entries")
        .select("object_key")
        .where("object_key", "in", objectKeys)
        .execute();
      return new Set(rows.map(({ object_key }) => object_key!));
    },
  };
}

const selectLive = (tables: Kysely<KvTables>, namespace: string, now: number) =>
  tables
    .selectFrom("kv_entries")
    .where("namespace_id", "=", namespace)
    .where(({ eb, or }) => or([eb("expires_at", "is", null), eb("expires_at", ">", now)]));

const toBuffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const fromRow = (row: KvTables["kv_entries"]): KvRow => ({
  namespace: row.namespace_id,
  key: toBuffer(row.key),
  expiresAt: row.expires_at,
  metadata: row.metadata,
  size: row.size,
  objectKey: row.object_key,
  value: row.value,
});
