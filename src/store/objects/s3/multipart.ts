import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { storeErrors } from "../../errors.ts";
import {
  isMissing,
  isPreconditionFailed,
  isRangeInvalid,
  isRetriable,
  isUploadDamaged,
  isUploadMissing,
} from "./errors.ts";
import { headObject } from "./read.ts";
import { BODY_TIMEOUT, retryDelay, type S3Requests } from "./requests.ts";

/** Multipart uploads. An object becomes visible when its upload is completed. Parts are numbered from 1. */
export interface Multipart {
  /** Returns the upload id. */
  begin(key: string): Promise<string>;
  /** Returns the ETag. Throws StoreError absent if the upload was aborted or completed. */
  part(key: string, uploadId: string, number: number, bytes: Buffer): Promise<string>;
  /**
   * Makes the object visible. Idempotent: resolves if an earlier call completed the upload. Throws StoreError
   * partialDamaged, and absent if the upload was aborted.
   */
  complete(key: string, uploadId: string, etags: readonly string[], size: number): Promise<void>;
  /** Resolves with true if the object consists of these parts. */
  isStored(key: string, etags: readonly string[], size: number): Promise<boolean>;
  abort(key: string, uploadId: string): Promise<void>;
  /** Copies an object of any size in parts. Throws StoreError absent, objectChanged. */
  copyLarge(
    from: string,
    to: string,
    source: { size: number; etag: string | undefined },
    partBytes: number,
  ): Promise<void>;
}

/** Some servers require all parts but the last to have the same size. S3 rejects parts of less than 5 MiB. */
export const PART_BYTES = 8 * 1024 * 1024;
const MAX_PARTS = 10_000;
/**
 * Servers may take minutes to assemble a large object, during which they send whitespace to keep the connection open.
 */
const COMPLETE_ATTEMPT_MS = 300_000;
/** How long to retry while the lock of an interrupted completion remains on the server. */
const COMPLETE_DEADLINE_MS = 60_000;
const COPIES_AT_ONCE = 4;

/** Returns the size of equal parts for an object of known size. */
export const partBytesFor = (size: number): number => {
  const mebibyte = 1024 * 1024;
  return Math.max(PART_BYTES, Math.ceil(size / (MAX_PARTS - 1) / mebibyte) * mebibyte);
};

export function createS3Multipart(requests: S3Requests): Multipart {
  const { sdk, at, send, failure } = requests;

  async function complete(key: string, uploadId: string, etags: readonly string[], size: number): Promise<void> {
    const Parts = etags.map((ETag, index) => ({ PartNumber: index + 1, ETag }));
    const deadline = performance.now() + COMPLETE_DEADLINE_MS;
    for (let count = 1; ; count++) {
      try {
        await send(
          key,
          (client, options) =>
            client.send(
              new sdk.CompleteMultipartUploadCommand({
                ...at(key),
                UploadId: uploadId,
                MultipartUpload: { Parts },
              }),
              options,
            ),
          // Not retried until the object has been checked: only the response may have been lost.
          { attempts: 1, attemptMs: COMPLETE_ATTEMPT_MS },
        );
        return;
      } catch (err) {
        const cause = (err as Error).cause ?? err;
        if (!isUploadMissing(cause) && !isUploadDamaged(cause) && !isRetriable(cause)) throw failure(err, key);
        if (await isStored(key, etags, size)) return;
        if (isUploadMissing(cause)) throw storeErrors.absent({ key }, { cause });
        if (isUploadDamaged(cause))
          throw storeErrors.partialDamaged({ key, reason: "another writer replaced a part" }, { cause });
        // After an interrupted completion, Ceph responds with 500 until its lock on the upload expires.
        const pauseMs = retryDelay(count);
        if (performance.now() + pauseMs > deadline) throw failure(cause, key);
        await sleep(pauseMs, undefined, { ref: false });
      }
    }
  }

  async function isStored(key: string, etags: readonly string[], size: number): Promise<boolean> {
    const found = await headObject(requests, key);
    if (found?.size !== size) return false;
    const etag = found.etag?.replaceAll('"', "") ?? "";
    const expected = multipartEtag(etags);
    return expected === undefined ? etag.endsWith(`-${etags.length}`) : etag === expected;
  }

  const begin = async (key: string) =>
    (await send(key, (client, options) => client.send(new sdk.CreateMultipartUploadCommand(at(key)), options)))
      .UploadId!;

  async function abort(key: string, uploadId: string): Promise<void> {
    try {
      await send(key, (client, options) =>
        client.send(new sdk.AbortMultipartUploadCommand({ ...at(key), UploadId: uploadId }), options),
      );
    } catch (err) {
      if (!isUploadMissing(err)) throw err;
    }
  }

  return {
    begin,
    complete,
    isStored,
    abort,
    async part(key, uploadId, number, bytes) {
      if (number > MAX_PARTS) throw storeErrors.tooLarge({ maxBytes: MAX_PARTS * PART_BYTES });
      try {
        const { ETag } = await send(
          key,
          (client, options) =>
            client.send(
              new sdk.UploadPartCommand({ ...at(key), UploadId: uploadId, PartNumber: number, Body: bytes }),
              options,
            ),
          BODY_TIMEOUT,
        );
        return ETag!;
      } catch (err) {
        throw isUploadMissing(err) ? storeErrors.absent({ key }, { cause: err }) : err;
      }
    },
    async copyLarge(from, to, { size, etag }, partBytes) {
      const uploadId = await begin(to);
      const count = Math.ceil(size / partBytes);
      const etags: string[] = Array.from({ length: count });
      let next = 0;
      const copyParts = async () => {
        for (let index = next++; index < count; index = next++) {
          const last = Math.min(size, (index + 1) * partBytes) - 1;
          const command = new sdk.UploadPartCopyCommand({
            ...at(to),
            UploadId: uploadId,
            PartNumber: index + 1,
            CopySource: copySource(requests, from),
            CopySourceRange: `bytes=${index * partBytes}-${last}`,
            CopySourceIfMatch: etag,
          });
          const { CopyPartResult } = await send(to, (client, options) => client.send(command, options), {
            attemptMs: COMPLETE_ATTEMPT_MS,
            deadlineMs: COMPLETE_ATTEMPT_MS,
          });
          etags[index] = CopyPartResult!.ETag!;
        }
      };
      const copies = Array.from({ length: Math.min(count, COPIES_AT_ONCE) }, copyParts);
      try {
        await Promise.all(copies);
        await complete(to, uploadId, etags, size);
      } catch (err) {
        next = count;
        await Promise.allSettled(copies);
        await abort(to, uploadId).catch(() => {});
        // If the source is shorter now, Ceph reports the invalid range, not the failed precondition.
        if (isPreconditionFailed(err) || isRangeInvalid(err))
          throw storeErrors.objectChanged({ key: from }, { cause: err });
        throw isMissing(err) ? storeErrors.absent({ key: from }, { cause: err }) : err;
      }
    },
  };
}

/** Other characters of keys need no escaping, see keys.ts. */
export const copySource = ({ location }: S3Requests, key: string): string =>
  `${location.bucket}/${location.prefix}${key}`.replaceAll("+", "%2B").replaceAll("=", "%3D").replaceAll("@", "%40");

/**
 * Returns S3's ETag of an object with these parts; undefined if their ETags are not MD5 digests, as with encryption.
 */
function multipartEtag(etags: readonly string[]): string | undefined {
  const digests = etags.map((etag) => etag.replaceAll('"', ""));
  if (digests.length === 0 || digests.some((digest) => !/^[0-9a-f]{32}$/.test(digest))) return undefined;
  return `${createHash("md5")
    .update(Buffer.from(digests.join(""), "hex"))
    .digest("hex")}-${digests.length}`;
}
