import { sql, type Kysely } from "kysely";
import type { Db, Migration } from "../../store/index.ts";
import type { Download, DownloadType } from "./types.ts";

interface DownloadTables {
  stream_downloads: {
    video_uid: string;
    type: DownloadType;
    account_id: string;
    /** Identifies the object; changes with every build. */
    build: string;
    status: Download["status"];
    percent: number;
    /** The job that builds it; "" until it is stored. */
    job: string;
    created_at: number;
    modified_at: number;
  };
}

export type DownloadRow = DownloadTables["stream_downloads"];

export const downloadsMigrations: Migration[] = [
  {
    name: "stream-downloads-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("stream_downloads")
        .addColumn("video_uid", key, (column) => column.notNull())
        .addColumn("type", key, (column) => column.notNull())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("build", key, (column) => column.notNull())
        .addColumn("status", key, (column) => column.notNull())
        .addColumn("percent", "integer", (column) => column.notNull())
        .addColumn("job", key, (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("modified_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("stream_downloads_key", ["video_uid", "type"])
        .execute();
      await sql`create index stream_downloads_unfinished on stream_downloads (modified_at) where status = 'inprogress'`.execute(
        db,
      );
    },
  },
];

export function createDownloadsTable(db: Db) {
  const tables: Kysely<DownloadTables> = db.tables<DownloadTables>();
  const rowQuery = (uid: string, type: DownloadType) =>
    tables.selectFrom("stream_downloads").selectAll().where("video_uid", "=", uid).where("type", "=", type);

  return {
    find: async (uid: string, type: DownloadType): Promise<DownloadRow | undefined> =>
      (await db.read(rowQuery(uid, type)))[0],
    of: (uid: string): Promise<DownloadRow[]> =>
      db.read(tables.selectFrom("stream_downloads").selectAll().where("video_uid", "=", uid).orderBy("type", "desc")),
    /** Replaces a failed row; leaves any other row unchanged. */
    insert: (row: DownloadRow) =>
      db.write(
        tables
          .insertInto("stream_downloads")
          .values(row)
          .onConflict((conflict) =>
            conflict
              .columns(["video_uid", "type"])
              .doUpdateSet({ ...row })
              .where("stream_downloads.status", "=", "error"),
          ),
      ),
    /** False if the row was deleted or is being built again. */
    change: async (
      { video_uid, type, build }: Pick<DownloadRow, "video_uid" | "type" | "build">,
      change: Partial<DownloadRow>,
    ): Promise<boolean> =>
      (
        await db.write(
          tables
            .updateTable("stream_downloads")
            .set(change)
            .where("video_uid", "=", video_uid)
            .where("type", "=", type)
            .where("build", "=", build),
        )
      ).affected > 0,
    async delete(uid: string, type?: DownloadType): Promise<DownloadRow[]> {
      const query = tables.deleteFrom("stream_downloads").where("video_uid", "=", uid);
      return (await db.write((type === undefined ? query : query.where("type", "=", type)).returningAll())).rows;
    },
    unfinished: (before: number, limit: number): Promise<DownloadRow[]> =>
      db.read(
        tables
          .selectFrom("stream_downloads")
          .selectAll()
          .where("status", "=", "inprogress")
          .where("modified_at", "<", before)
          .orderBy("modified_at")
          .limit(limit),
      ),
  };
}

export type DownloadsTable = ReturnType<typeof createDownloadsTable>;
