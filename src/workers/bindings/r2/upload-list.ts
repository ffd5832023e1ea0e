import { r2Errors } from "./errors.ts";
import { checkObjectName, type R2Limits } from "./limits.ts";
import { successor } from "./list.ts";
import type { ObjectRange, OpenUpload, StorageClass, StoredPart, UploadListOptions, UploadRef } from "./object.ts";
import type { ObjectTable } from "./r2-table.ts";
import type { MultipartUploadRow } from "./schema.ts";
import type { UploadListTable } from "./upload-list-table.ts";

interface UploadListDeps {
  table: UploadListTable;
  objects: Pick<ObjectTable, "find">;
  limits: R2Limits;
}

/** Lists open multipart uploads and parts. */
export function createUploadLists({ table, objects, limits }: UploadListDeps) {
  const pageLimit = (limit = limits.listKeys) => {
    if (!Number.isInteger(limit) || limit < 1 || limit > limits.listKeys) throw r2Errors.invalidMaxKeys();
    return limit;
  };

  async function uploads(
    bucket: string,
    { prefix = "", afterKey, afterUpload, limit: requestedLimit }: UploadListOptions = {},
  ): Promise<{ uploads: OpenUpload[]; more: boolean }> {
    const limit = pageLimit(requestedLimit);
    for (const name of [prefix, afterKey ?? "", afterUpload ?? ""]) checkObjectName(name, limits);
    const rows = await table.openUploads(bucket, {
      prefix,
      before: successor(prefix),
      afterKey,
      afterUpload,
      limit: limit + 1,
    });
    return { uploads: rows.slice(0, limit).map(openUpload), more: rows.length > limit };
  }

  async function parts(
    bucket: string,
    { key, uploadId }: UploadRef,
    { after = 0, limit: requestedLimit }: { after?: number; limit?: number } = {},
  ): Promise<{ upload: OpenUpload; parts: StoredPart[]; more: boolean }> {
    const limit = pageLimit(requestedLimit);
    checkObjectName(key, limits);
    checkObjectName(uploadId, limits);
    const upload = await table.openUpload(bucket, key, uploadId);
    if (!upload) throw r2Errors.noSuchUpload();
    const rows = await table.parts(uploadId, after, limit + 1);
    return {
      upload: openUpload(upload),
      parts: rows.slice(0, limit).map(({ part_number, md5, size, uploaded }) => ({
        partNumber: part_number,
        etag: md5,
        size,
        uploaded: uploaded === null ? undefined : new Date(uploaded),
      })),
      more: rows.length > limit,
    };
  }

  async function partRange(
    bucket: string,
    key: string,
    partNumber: number,
  ): Promise<{ etag: string; range: ObjectRange; parts: number | undefined } | undefined> {
    checkObjectName(key, limits);
    const row = await objects.find(bucket, key);
    if (!row) return undefined;
    const { etag, size, part_size: partSize } = row;
    if (row.upload_id === null || !partSize)
      return partNumber === 1 ? { etag, range: { offset: 0, length: size }, parts: undefined } : undefined;
    // All parts except the last have the same size.
    const offset = (partNumber - 1) * partSize;
    if (offset >= size) return undefined;
    return {
      etag,
      range: { offset, length: Math.min(partSize, size - offset) },
      parts: Math.ceil(size / partSize),
    };
  }

  return { uploads, parts, partRange };
}

const openUpload = ({ key, upload_id, since, storage_class }: MultipartUploadRow): OpenUpload => ({
  key,
  uploadId: upload_id,
  createdAt: new Date(since),
  storageClass: storage_class as StorageClass,
});
