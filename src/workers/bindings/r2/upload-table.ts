import type { Kysely } from "kysely";
import type { Db } from "../../../store/index.ts";
import { replaceObject } from "./r2-table.ts";
import { inBatches, tombstoneParts, type RemovedVersion } from "./removed-table.ts";
import type { ObjectRow, PartRow, R2Tables, MultipartUploadRow } from "./schema.ts";

interface UploadKey {
  bucket: string;
  key: string;
  uploadId: string;
}

/**
 * Creates the table of multipart uploads and their parts. Callbacks reject a change by throwing, which rolls back the
 * transaction.
 */
export function createUploadTable(db: Db) {
  const tables = () => db.tables<R2Tables>();

  return {
    async create(row: MultipartUploadRow): Promise<void> {
      await db.write(tables().insertInto("r2_uploads").values(row));
    },

    find: (upload: UploadKey): Promise<MultipartUploadRow | undefined> => findUpload(tables(), upload),

    /** Returns the part previously stored under that number. */
    putPart: (
      upload: UploadKey,
      part: PartRow,
      allow: (upload: MultipartUploadRow | undefined) => void,
      at: number,
    ): Promise<RemovedVersion[]> =>
      db.transaction<R2Tables, RemovedVersion[]>(async (tx) => {
        allow(await findUpload(tx, upload));
        const oldParts = await tx
          .selectFrom("r2_parts")
          .selectAll()
          .where("upload_id", "=", part.upload_id)
          .where("part_number", "=", part.part_number)
          .execute();
        const removedParts = await dropParts(tx, upload.bucket, oldParts, at);
        await tx.insertInto("r2_parts").values(part).execute();
        return removedParts;
      }),

    /**
     * `assemble` receives the upload and its parts by number and returns the object with its part numbers, or throws.
     */
    complete: (
      upload: UploadKey,
      assemble: (row: MultipartUploadRow | undefined, parts: PartRow[]) => { object: ObjectRow; partNumbers: number[] },
      at: number,
    ) =>
      db.transaction<R2Tables, { object: ObjectRow; removed: RemovedVersion[] }>(async (tx) => {
        const row = await findUpload(tx, upload);
        const parts = row ? await partsOf(tx, upload.uploadId) : [];
        const { object, partNumbers } = assemble(row, parts);
        const usedNumbers = new Set(partNumbers);
        const unusedParts = await dropParts(
          tx,
          upload.bucket,
          parts.filter(({ part_number }) => !usedNumbers.has(part_number)),
          at,
        );
        await finish(tx, upload.uploadId, "completed", at);
        const replacedObject = await replaceObject(tx, object);
        return { object, removed: [...replacedObject, ...unusedParts] };
      }),

    /** Resolves with undefined if the upload does not exist. A finished upload is not changed. */
    abort: (upload: UploadKey, at: number): Promise<RemovedVersion[] | undefined> =>
      db.transaction<R2Tables, RemovedVersion[] | undefined>(async (tx) => {
        const row = await findUpload(tx, upload);
        if (!row) return undefined;
        if (row.state !== "open") return [];
        await tombstoneParts(tx, upload.bucket, [upload.uploadId], at);
        await finish(tx, upload.uploadId, "aborted", at);
        return [{ bucket: upload.bucket, owner: upload.uploadId, multipart: true }];
      }),

    /** `count` parts of a multipart object in order, starting at index `first` (from 0). */
    parts: (uploadId: string, first: number, count: number): Promise<PartRow[]> =>
      tables()
        .selectFrom("r2_parts")
        .selectAll()
        .where("upload_id", "=", uploadId)
        .orderBy("part_number")
        .limit(count)
        .offset(first)
        .execute(),

    /** Lists uploads that entered their state before that time, oldest first. */
    since: (before: number, limit: number): Promise<MultipartUploadRow[]> =>
      tables()
        .selectFrom("r2_uploads")
        .selectAll()
        .where("since", "<", before)
        .orderBy("since")
        .orderBy("upload_id")
        .limit(limit)
        .execute(),

    async forget(uploadIds: string[]): Promise<void> {
      if (uploadIds.length > 0) await db.write(tables().deleteFrom("r2_uploads").where("upload_id", "in", uploadIds));
    },
  };
}

export type UploadTable = ReturnType<typeof createUploadTable>;

async function dropParts(
  tx: Kysely<R2Tables>,
  bucket: string,
  parts: PartRow[],
  since: number,
): Promise<RemovedVersion[]> {
  for (const batch of inBatches(parts)) {
    await tx
      .insertInto("r2_removed")
      .values(batch.map(({ blob }) => ({ blob, bucket, owner: blob, since })))
      .execute();
    await tx
      .deleteFrom("r2_parts")
      .where(
        "blob",
        "in",
        batch.map(({ blob }) => blob),
      )
      .execute();
  }
  return parts.map(({ blob }) => ({ bucket, owner: blob, multipart: false }));
}

const findUpload = (
  db: Kysely<R2Tables>,
  { bucket, key, uploadId }: UploadKey,
): Promise<MultipartUploadRow | undefined> =>
  db
    .selectFrom("r2_uploads")
    .selectAll()
    .where("upload_id", "=", uploadId)
    .where("bucket", "=", bucket)
    .where("key", "=", key)
    .executeTakeFirst();

const partsOf = (db: Kysely<R2Tables>, uploadId: string): Promise<PartRow[]> =>
  db.selectFrom("r2_parts").selectAll().where("upload_id", "=", uploadId).orderBy("part_number").execute();

const finish = (tx: Kysely<R2Tables>, uploadId: string, state: MultipartUploadRow["state"], since: number) =>
  tx.updateTable("r2_uploads").set({ state, since }).where("upload_id", "=", uploadId).execute();
