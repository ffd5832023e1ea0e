import type { Kysely } from "kysely";
import type { Db } from "../../../store/index.ts";
import { blobOwner, type R2Tables } from "./schema.ts";

/** An object version whose row has been deleted and whose bytes may be deleted. */
export interface RemovedVersion {
  bucket: string;
  owner: string;
  /** True if the bytes are stored in several blobs listed in the table, rather than in one blob with the same name as the owner. */
  multipart: boolean;
}

/** Number of values per statement. Both engines accept more, and the longest list here has a thousand keys. */
const BATCH_SIZE = 1000;

export function* inBatches<Item>(items: Item[], size = BATCH_SIZE): Generator<Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** Marks the bytes of these rows for deletion, within the transaction that deletes the rows from r2_objects. */
export async function tombstone(
  tx: Kysely<R2Tables>,
  bucket: string,
  rows: { version: string; upload_id: string | null }[],
  since: number,
): Promise<RemovedVersion[]> {
  const uploads = rows.flatMap(({ upload_id }) => upload_id ?? []);
  const blobs = rows
    .filter(({ upload_id }) => upload_id === null)
    .map(({ version }) => ({ blob: version, bucket, owner: version, since }));
  if (blobs.length > 0) await tx.insertInto("r2_removed").values(blobs).execute();
  if (uploads.length > 0) await tombstoneParts(tx, bucket, uploads, since);
  return rows.map((row) => ({ bucket, owner: blobOwner(row), multipart: row.upload_id !== null }));
}

/** Marks all parts of these uploads for deletion without loading them (10,000 each) into this process. */
export async function tombstoneParts(
  tx: Kysely<R2Tables>,
  bucket: string,
  uploads: string[],
  since: number,
): Promise<void> {
  await tx
    .insertInto("r2_removed")
    .columns(["blob", "bucket", "owner", "since"])
    .expression((builder) =>
      builder
        .selectFrom("r2_parts")
        .select(({ val, cast }) => [
          "blob",
          cast<string>(val(bucket), "text").as("bucket"),
          "upload_id as owner",
          cast<number>(val(since), "bigint").as("since"),
        ])
        .where("upload_id", "in", uploads),
    )
    .execute();
  await tx.deleteFrom("r2_parts").where("upload_id", "in", uploads).execute();
}

export function createRemovedTable(db: Db) {
  const tables = () => db.tables<R2Tables>();

  return {
    blobsOf: async (owner: string, after: string, limit: number): Promise<string[]> =>
      (
        await tables()
          .selectFrom("r2_removed")
          .select("blob")
          .where("owner", "=", owner)
          .where("blob", ">", after)
          .orderBy("blob")
          .limit(limit)
          .execute()
      ).map(({ blob }) => blob),

    /** Oldest first. */
    before: (since: number, limit: number) =>
      tables()
        .selectFrom("r2_removed")
        .select(["blob", "bucket", "owner"])
        .where("since", "<", since)
        .orderBy("since")
        .orderBy("blob")
        .limit(limit)
        .execute(),

    async forget(blobs: string[]): Promise<void> {
      for (const batch of inBatches(blobs))
        await db.write(tables().deleteFrom("r2_removed").where("blob", "in", batch));
    },

    /** Returns the subset of `blobs` that belongs to an object or a part, or whose removal is already recorded. */
    /**
     * Resolves with the subset of `blobs` that belong to an object or a part, or whose removal is already recorded.
     * Queried one after the other: a blob moves from the first two tables to the third, so none can be missed between
     * the queries.
     */
    async known(blobs: string[]): Promise<Set<string>> {
      const objectRows = await tables()
        .selectFrom("r2_objects")
        .select("version as blob")
        .where("version", "in", blobs)
        .execute();
      const partRows = await tables().selectFrom("r2_parts").select("blob").where("blob", "in", blobs).execute();
      const removedRows = await tables().selectFrom("r2_removed").select("blob").where("blob", "in", blobs).execute();
      return new Set([...objectRows, ...partRows, ...removedRows].map(({ blob }) => blob));
    },
  };
}

export type RemovedTable = ReturnType<typeof createRemovedTable>;
