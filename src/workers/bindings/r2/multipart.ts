import { createHash } from "node:crypto";
import { UserError, type Clock, type Ids } from "../../../kernel/index.ts";
import type { ObjectStore } from "../../../store/index.ts";
import { withSizeLimit } from "./body.ts";
import { r2Errors } from "./errors.ts";
import { checkObjectName, checkObjectMetadata, type R2Limits } from "./limits.ts";
import type { ObjectBody, Metadata, R2Object, UploadedPart, UploadRef } from "./object.ts";
import { blobKey, type Removal } from "./removal.ts";
import { r2Object, storedMetadata } from "./rows.ts";
import type { PartRow, MultipartUploadRow } from "./schema.ts";
import type { UploadTable } from "./upload-table.ts";

interface MultipartDeps {
  store: ObjectStore;
  uploads: UploadTable;
  removal: Removal;
  clock: Clock;
  ids: Ids;
  limits: R2Limits;
}

/**
 * Creates multipart objects. Each part remains a separate blob: completing the upload writes a row that refers to its
 * parts, which takes one transaction whatever the size. Reads proceed from part to part; since all parts except the
 * last have the same size, the first part of a range is found by division. Joining the parts into one file would read
 * and write every byte again while a worker waits.
 */
export function createMultipart({ store, uploads, removal, clock, ids, limits }: MultipartDeps) {
  async function create(bucket: string, key: string, options: Metadata = {}): Promise<UploadRef> {
    checkObjectName(key, limits);
    checkObjectMetadata(options, limits);
    const uploadId = ids.token();
    await uploads.create({
      upload_id: uploadId,
      bucket,
      key,
      state: "open",
      since: clock.now(),
      ...storedMetadata(options),
    });
    return { key, uploadId };
  }

  async function putPart(
    bucket: string,
    { key, uploadId }: UploadRef,
    partNumber: number,
    body: ObjectBody,
    { size }: { size?: number } = {},
  ): Promise<UploadedPart> {
    checkObjectName(key, limits);
    if (!Number.isInteger(partNumber) || partNumber < 1 || partNumber > limits.parts)
      throw r2Errors.invalidArgument({
        problem: `Part number must be between 1 and ${limits.parts} (inclusive). Actual value was: ${partNumber}`,
      });
    const upload = { bucket, key, uploadId };
    requireOpen(await uploads.find(upload));

    const blob = ids.hex();
    const stored = await store.put(blobKey(bucket, blob), withSizeLimit(body, { size, most: limits.uploadBytes }), {
      digests: ["md5"],
    });
    const etag = stored.digests.md5!;
    try {
      removal.enqueue(
        await uploads.putPart(
          upload,
          { upload_id: uploadId, part_number: partNumber, blob, size: stored.size, md5: etag, uploaded: clock.now() },
          requireOpen,
          clock.now(),
        ),
      );
      return { partNumber, etag };
    } catch (err) {
      // As in put(): the bytes are deleted only if it is certain that no row references them.
      if (err instanceof UserError && err.domain === "r2") await removal.discard(bucket, blob);
      throw err;
    }
  }

  async function complete(
    bucket: string,
    { key, uploadId }: UploadRef,
    requestedParts: UploadedPart[],
  ): Promise<R2Object> {
    checkObjectName(key, limits);
    const version = ids.hex();
    const now = clock.now();
    const { object, removed: removedBlobs } = await uploads.complete(
      { bucket, key, uploadId },
      (upload, uploadedParts) => {
        const { storage_class, http_metadata, custom_metadata } = requireOpen(upload);
        const parts = selectParts(uploadedParts, requestedParts, limits);
        return {
          object: {
            bucket,
            key,
            version,
            storage_class,
            http_metadata,
            custom_metadata,
            size: parts.reduce((sum, { size }) => sum + size, 0),
            etag: etagOf(parts),
            checksums: "{}",
            uploaded: now,
            upload_id: uploadId,
            part_size: parts[0]?.size ?? 0,
          },
          partNumbers: parts.map(({ part_number }) => part_number),
        };
      },
      now,
    );
    removal.enqueue(removedBlobs);
    return r2Object(object);
  }

  async function abort(bucket: string, { key, uploadId }: UploadRef): Promise<void> {
    checkObjectName(key, limits);
    const removedBlobs = await uploads.abort({ bucket, key, uploadId }, clock.now());
    if (!removedBlobs) throw r2Errors.noSuchUpload();
    removal.enqueue(removedBlobs);
  }

  return { create, putPart, complete, abort };
}

function requireOpen(upload: MultipartUploadRow | undefined): MultipartUploadRow {
  if (upload?.state !== "open") throw r2Errors.noSuchUpload();
  return upload;
}

/** Returns the parts listed in the completion request, in order of their numbers. */
function selectParts(uploadedParts: PartRow[], requestedParts: UploadedPart[], limits: R2Limits): PartRow[] {
  const byNumber = new Map(uploadedParts.map((part) => [part.part_number, part]));
  const parts = requestedParts
    .map(({ partNumber, etag }) => {
      const part = byNumber.get(partNumber);
      byNumber.delete(partNumber); // A part listed twice is not found the second time.
      if (part?.md5 !== etag) throw r2Errors.invalidPart();
      return part;
    })
    .sort((a, b) => a.part_number - b.part_number);

  const first = parts[0]?.size ?? 0;
  for (const [index, { size }] of parts.entries()) {
    const isLast = index === parts.length - 1;
    if (!isLast && size < limits.minimumPartBytes) throw r2Errors.entityTooSmall();
    if (isLast ? size > first : size !== first) throw r2Errors.unequalParts();
  }
  if (parts.reduce((sum, { size }) => sum + size, 0) > limits.objectBytes) throw r2Errors.entityTooLarge();
  return parts;
}

/** Returns the MD5 of the parts' binary MD5s, and the number of parts. */
function etagOf(parts: PartRow[]): string {
  const hash = createHash("md5");
  for (const { md5 } of parts) hash.update(md5, "hex");
  return `${hash.digest("hex")}-${parts.length}`;
}
