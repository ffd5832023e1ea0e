import { createHash, timingSafeEqual } from "node:crypto";
import { sql, type Kysely } from "kysely";
import type { Db, Migration } from "../../store/index.ts";

interface UploadTables {
  stream_uploads: UploadRow;
}

/** One upload of a video's source; forms with a token have no row. */
export interface UploadRow {
  /** Uid of the video. */
  uid: string;
  account_id: string;
  /** `direct` and `tus` have a URL, and anyone with it may restart the upload. */
  kind: "tus" | "direct" | "copy";
  /** SHA-256 of the secret in the upload URL. */
  secret: string | null;
  /** In bytes, or DEFERRED; null: unknown, or upload not started. */
  length: number | null;
  /** Value of Upload-Metadata, as sent. */
  metadata: string | null;
  /** URL from which the file is copied. */
  url: string | null;
  /** Version of the copied file, as reported by its origin. */
  version: string | null;
  /**
   * Object key of the source. Null: `stream/<uid>/source`. Each attempt after one that may have stored an object gets a
   * new key, because an object must never be replaced by one with other bytes.
   */
  source_key: string | null;
  /** When data last arrived or was requested, or `NO_DATA_YET`. */
  touched_at: number;
  finished_at: number | null;
}

/** No data has arrived yet. */
export const NO_DATA_YET = 0;

/** Length of an upload until its client declares it (TUS 1.0.0, `Upload-Defer-Length`). */
export const DEFERRED_LENGTH = -1;

export const uploadsMigrations: Migration[] = [
  {
    name: "stream-uploads-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("stream_uploads")
        .addColumn("uid", key, (column) => column.primaryKey())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("kind", key, (column) => column.notNull())
        .addColumn("secret", key)
        .addColumn("length", "bigint")
        .addColumn("metadata", "text")
        .addColumn("url", "text")
        .addColumn("version", "text")
        .addColumn("touched_at", "bigint", (column) => column.notNull())
        .addColumn("finished_at", "bigint")
        .execute();
      await sql`create index stream_uploads_unfinished on stream_uploads (uid) where finished_at is null`.execute(db);
      await sql`create index stream_uploads_finished on stream_uploads (finished_at, uid) where finished_at is not null`.execute(
        db,
      );
    },
  },
  {
    name: "stream-uploads-002-source-key",
    async up(db) {
      await db.schema.alterTable("stream_uploads").addColumn("source_key", "text").execute();
    },
  },
];

const BATCH = 500;

export type UploadsTable = ReturnType<typeof createUploadsTable>;

export function createUploadsTable(db: Db) {
  const tables: Kysely<UploadTables> = db.tables<UploadTables>();
  const rows = tables.selectFrom("stream_uploads").selectAll();

  return {
    async insert(
      row: Pick<UploadRow, "uid" | "account_id" | "kind" | "touched_at"> & Partial<UploadRow>,
    ): Promise<UploadRow> {
      const fullRow: UploadRow = {
        secret: null,
        length: null,
        metadata: null,
        url: null,
        version: null,
        source_key: null,
        finished_at: null,
        ...row,
      };
      await db.write(tables.insertInto("stream_uploads").values(fullRow));
      return fullRow;
    },
    async find(uid: string): Promise<UploadRow | undefined> {
      return (await db.read(rows.where("uid", "=", uid)))[0];
    },
    async change(
      uid: string,
      values: Partial<
        Pick<UploadRow, "length" | "metadata" | "version" | "source_key" | "touched_at" | "finished_at" | "secret">
      >,
    ): Promise<void> {
      await db.write(tables.updateTable("stream_uploads").set(values).where("uid", "=", uid));
    },
    async remove(uid: string): Promise<void> {
      await db.write(tables.deleteFrom("stream_uploads").where("uid", "=", uid));
    },
    /** Read in batches, by uid. */
    async *unfinished(): AsyncGenerator<UploadRow> {
      for (let after = ""; ;) {
        const batch = await db.read(
          rows.where("finished_at", "is", null).where("uid", ">", after).orderBy("uid").limit(BATCH),
        );
        yield* batch;
        if (batch.length < BATCH) return;
        after = batch.at(-1)!.uid;
      }
    },
    /** Deletes uploads that finished before this time; true while there may be more. */
    async deleteFinished(before: number): Promise<boolean> {
      const batchQuery = tables
        .selectFrom("stream_uploads")
        .select("uid")
        .where("finished_at", "<", before)
        .orderBy("finished_at")
        .orderBy("uid")
        .limit(BATCH);
      const { affected } = await db.write(tables.deleteFrom("stream_uploads").where("uid", "in", batchQuery));
      return affected === BATCH;
    },
  };
}

export const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("hex");

/** Compares the secret in constant time. */
export const isSecretOf = (row: UploadRow, secret: string): boolean =>
  row.secret !== null && timingSafeEqual(Buffer.from(row.secret), Buffer.from(hashOf(secret)));
