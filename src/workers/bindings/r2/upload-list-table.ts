import { sql } from "kysely";
import type { Db, Migration } from "../../../store/index.ts";
import type { MultipartUploadRow, PartRow, R2Tables } from "./schema.ts";

export const uploadListMigration: Migration = {
  name: "workers-r2-003-upload-list",
  async up(db) {
    await db.schema.alterTable("r2_parts").addColumn("uploaded", "bigint").execute();
    await db.schema
      .createIndex("r2_uploads_open")
      .on("r2_uploads")
      .columns(["bucket", "key", "upload_id"])
      .where(sql.ref("state"), "=", sql.lit("open"))
      .execute();
  },
};

/** Selects a page of the list of open uploads. */
interface UploadPage {
  prefix: string;
  /** Exclusive upper bound of the keys with the prefix; undefined if there is none. */
  before: string | undefined;
  afterKey: string | undefined;
  /** If undefined, the page starts after all uploads of `afterKey`. */
  afterUpload: string | undefined;
  limit: number;
}

/** Reads open multipart uploads and their parts. */
export function createUploadListTable(db: Db) {
  const tables = () => db.tables<R2Tables>();

  return {
    /** Lists open uploads, ordered by key and upload id. */
    openUploads: (
      bucket: string,
      { prefix, before, afterKey, afterUpload, limit }: UploadPage,
    ): Promise<MultipartUploadRow[]> =>
      tables()
        .selectFrom("r2_uploads")
        .selectAll()
        .where("bucket", "=", bucket)
        .where("state", "=", sql.lit("open"))
        .where("key", ">=", prefix)
        .$if(before !== undefined, (query) => query.where("key", "<", before!))
        .$if(afterKey !== undefined && afterUpload === undefined, (query) => query.where("key", ">", afterKey!))
        .$if(afterKey !== undefined && afterUpload !== undefined, (query) =>
          query.where(({ eb, refTuple, tuple }) =>
            eb(refTuple("key", "upload_id"), ">", tuple(afterKey!, afterUpload!)),
          ),
        )
        .orderBy("key")
        .orderBy("upload_id")
        .limit(limit)
        .execute(),

    openUpload: (bucket: string, key: string, uploadId: string): Promise<MultipartUploadRow | undefined> =>
      tables()
        .selectFrom("r2_uploads")
        .selectAll()
        .where("upload_id", "=", uploadId)
        .where("bucket", "=", bucket)
        .where("key", "=", key)
        .where("state", "=", sql.lit("open"))
        .executeTakeFirst(),

    parts: (uploadId: string, after: number, limit: number): Promise<PartRow[]> =>
      tables()
        .selectFrom("r2_parts")
        .selectAll()
        .where("upload_id", "=", uploadId)
        .where("part_number", ">", after)
        .orderBy("part_number")
        .limit(limit)
        .execute(),
  };
}

export type UploadListTable = ReturnType<typeof createUploadListTable>;
