import { sql, type Kysely } from "kysely";
import type { Db, Migration } from "../../../store/index.ts";
import { tombstone, type RemovedVersion } from "./removed-table.ts";
import { bucketMigration } from "./bucket-table.ts";
import { uploadListMigration } from "./upload-list-table.ts";
import type { ObjectRow, R2Tables } from "./schema.ts";

export const r2Migrations: Migration[] = [
  {
    name: "workers-r2-001",
    async up(db, types) {
      const text = sql.raw(types.keyText);
      await db.schema
        .createTable("r2_objects")
        .addColumn("bucket", text, (column) => column.notNull())
        .addColumn("key", text, (column) => column.notNull())
        .addColumn("version", text, (column) => column.notNull())
        .addColumn("size", "bigint", (column) => column.notNull())
        .addColumn("etag", "text", (column) => column.notNull())
        .addColumn("uploaded", "bigint", (column) => column.notNull())
        .addColumn("storage_class", "text", (column) => column.notNull())
        .addColumn("checksums", "text", (column) => column.notNull())
        .addColumn("http_metadata", "text", (column) => column.notNull())
        .addColumn("custom_metadata", "text", (column) => column.notNull())
        .addColumn("upload_id", text)
        .addColumn("part_size", "bigint")
        .addPrimaryKeyConstraint("r2_objects_key", ["bucket", "key"])
        .execute();
      // Lets the sweep check which of many blobs are still referenced.
      await db.schema.createIndex("r2_objects_version").on("r2_objects").column("version").unique().execute();

      await db.schema
        .createTable("r2_uploads")
        .addColumn("upload_id", text, (column) => column.primaryKey())
        .addColumn("bucket", text, (column) => column.notNull())
        .addColumn("key", text, (column) => column.notNull())
        .addColumn("state", "text", (column) => column.notNull())
        .addColumn("since", "bigint", (column) => column.notNull())
        .addColumn("storage_class", "text", (column) => column.notNull())
        .addColumn("http_metadata", "text", (column) => column.notNull())
        .addColumn("custom_metadata", "text", (column) => column.notNull())
        .execute();
      await db.schema.createIndex("r2_uploads_since").on("r2_uploads").columns(["since", "upload_id"]).execute();

      await db.schema
        .createTable("r2_parts")
        .addColumn("upload_id", text, (column) => column.notNull())
        .addColumn("part_number", "integer", (column) => column.notNull())
        .addColumn("blob", text, (column) => column.notNull().unique())
        .addColumn("size", "bigint", (column) => column.notNull())
        .addColumn("md5", "text", (column) => column.notNull())
        .addPrimaryKeyConstraint("r2_parts_key", ["upload_id", "part_number"])
        .execute();

      await db.schema
        .createTable("r2_removed")
        .addColumn("blob", text, (column) => column.primaryKey())
        .addColumn("bucket", text, (column) => column.notNull())
        .addColumn("owner", text, (column) => column.notNull())
        .addColumn("since", "bigint", (column) => column.notNull())
        .execute();
      await db.schema.createIndex("r2_removed_since").on("r2_removed").columns(["since", "blob"]).execute();
      await db.schema.createIndex("r2_removed_owner").on("r2_removed").columns(["owner", "blob"]).execute();
    },
  },
  bucketMigration,
  uploadListMigration,
];

/**
 * The key at which a page starts within a bucket, and the key before which it ends (undefined: the end of the bucket).
 */
export interface KeyRange {
  from: string;
  /** True if the range includes `from`. */
  including: boolean;
  before: string | undefined;
}

export type PageRow = Omit<ObjectRow, "http_metadata" | "custom_metadata" | "part_size" | "upload_id"> &
  Partial<Pick<ObjectRow, "http_metadata" | "custom_metadata">>;

interface RemovedObjects {
  keys: string[];
  removed: RemovedVersion[];
}

export function createObjectTable(db: Db) {
  const tables = () => db.tables<R2Tables>();

  return {
    find: (bucket: string, key: string): Promise<ObjectRow | undefined> =>
      tables()
        .selectFrom("r2_objects")
        .selectAll()
        .where("bucket", "=", bucket)
        .where("key", "=", key)
        .executeTakeFirst(),

    /** Resolves with false, and writes nothing, if the key exists. */
    async insert(row: ObjectRow): Promise<boolean> {
      const writeResult = await db.write(
        tables()
          .insertInto("r2_objects")
          .values(row)
          .onConflict((conflict) => conflict.columns(["bucket", "key"]).doNothing()),
      );
      return writeResult.affected === 1;
    },

    /**
     * Replaces that version, which is a plain object; resolves with false if another version is now current. The
     * removal is not recorded: if the bytes are never deleted, they become an orphan.
     */
    async swap(row: ObjectRow, version: string): Promise<boolean> {
      const { bucket, key, ...changes } = row;
      const writeResult = await db.write(
        tables()
          .updateTable("r2_objects")
          .set(changes)
          .where("bucket", "=", bucket)
          .where("key", "=", key)
          .where("version", "=", version),
      );
      return writeResult.affected === 1;
    },

    /** Like swap(): deletes that version if it is still the current one. */
    async drop({ bucket, key, version }: ObjectRow): Promise<boolean> {
      const writeResult = await db.write(
        tables()
          .deleteFrom("r2_objects")
          .where("bucket", "=", bucket)
          .where("key", "=", key)
          .where("version", "=", version),
      );
      return writeResult.affected === 1;
    },

    /** Replaces the current row; `allow` may reject it by throwing. */
    replace: (row: ObjectRow, allow: (current: ObjectRow | undefined) => void): Promise<RemovedVersion[]> =>
      db.transaction<R2Tables, RemovedVersion[]>((tx) => replaceObject(tx, row, allow)),

    /**
     * Deletes the objects whose key or current version is in `values`; with `plain`, only objects that are not
     * multipart.
     */
    remove: (
      bucket: string,
      by: "key" | "version",
      values: string[],
      which: "plain" | "any",
      at: number,
    ): Promise<RemovedObjects> =>
      db.transaction<R2Tables, RemovedObjects>(async (tx) => {
        const rows = await tx
          .deleteFrom("r2_objects")
          .where("bucket", "=", bucket)
          .where(by, "in", values)
          .$if(which === "plain", (query) => query.where("upload_id", "is", null))
          .returning(["key", "version", "upload_id"])
          .execute();
        return { keys: rows.map(({ key }) => key), removed: await tombstone(tx, bucket, rows, at) };
      }),

    /** Resolves with the subset of `values` that belongs to multipart objects. */
    async multipartAmong(bucket: string, by: "key" | "version", values: string[]): Promise<string[]> {
      const rows = await tables()
        .selectFrom("r2_objects")
        .select(["key", "version"])
        .where("bucket", "=", bucket)
        .where(by, "in", values)
        .where("upload_id", "is not", null)
        .execute();
      return rows.map((row) => row[by]);
    },

    async changeStorageClass(bucket: string, versions: string[], storageClass: string): Promise<void> {
      await db.write(
        tables()
          .updateTable("r2_objects")
          .set({ storage_class: storageClass })
          .where("bucket", "=", bucket)
          .where("version", "in", versions),
      );
    },

    /** Returns rows in the byte order of their keys. */
    page(
      bucket: string,
      { from, including, before }: KeyRange,
      limit: number,
      include: { http: boolean; custom: boolean },
    ): Promise<PageRow[]> {
      return tables()
        .selectFrom("r2_objects")
        .select(["bucket", "key", "version", "size", "etag", "uploaded", "storage_class", "checksums"])
        .$if(include.http, (query) => query.select("http_metadata"))
        .$if(include.custom, (query) => query.select("custom_metadata"))
        .where("bucket", "=", bucket)
        .where("key", including ? ">=" : ">", from)
        .$if(before !== undefined, (query) => query.where("key", "<", before!))
        .orderBy("key")
        .limit(limit)
        .execute();
    },
  };
}

export type ObjectTable = ReturnType<typeof createObjectTable>;

/** Replaces an object within a transaction; this is also the last step of completing a multipart upload. */
export async function replaceObject(
  tx: Kysely<R2Tables>,
  row: ObjectRow,
  allow: (current: ObjectRow | undefined) => void = () => {},
): Promise<RemovedVersion[]> {
  const current = await tx
    .selectFrom("r2_objects")
    .selectAll()
    .where("bucket", "=", row.bucket)
    .where("key", "=", row.key)
    .executeTakeFirst();
  allow(current);
  const { bucket: _bucket, key: _key, ...changes } = row;
  await tx
    .insertInto("r2_objects")
    .values(row)
    .onConflict((conflict) => conflict.columns(["bucket", "key"]).doUpdateSet(changes))
    .execute();
  return current ? tombstone(tx, row.bucket, [current], row.uploaded) : [];
}
