import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "../../../kernel/index.ts";
import { isStoreError, storeErrors } from "../../errors.ts";
import type { PartialRow, PartialsTable } from "../partials-table.ts";
import type { PartialObject } from "../port.ts";
import { isMissing } from "./errors.ts";
import { copySource } from "./multipart.ts";
import { headObject, openS3Object } from "./read.ts";
import type { PartSpool } from "./spool.ts";
import { putBytes, type S3WriteDeps } from "./write.ts";

export interface S3PartialDeps extends S3WriteDeps {
  table: PartialsTable;
  clock: Pick<Clock, "now">;
  /** At least 5 MiB, the minimum that S3 requires for all parts but the last. */
  partBytes: number;
  /** Deletes an object that is no longer needed. Never rejects: if the deletion fails, the sweep deletes the object. */
  remove(key: string): Promise<void>;
}

/**
 * Prefix of the objects with the acknowledged bytes after the last full part. It begins with a dot, unlike the keys of
 * other objects.
 */
export const TAIL_PREFIX = ".partial/";
const MAX_CONCURRENT_PARTS = 3;

/**
 * Stores a partial object as equal parts of a multipart upload, and a tail object for the rest. A database row records
 * the acknowledged bytes. Each part and each tail advances the row in one statement, on condition that its offset and
 * writer have not changed. Any process can continue: it becomes the row's writer, and the next step of the previous
 * writer fails.
 *
 * S3 has no fencing: a late part from the previous writer replaces a part of the new one. This is harmless if both
 * upload the same file, because parts begin at multiples of the part size and are identical. Otherwise complete()
 * fails, because the row contains other ETags.
 */
export function createS3Partials(deps: S3PartialDeps): (key: string) => PartialObject {
  return (key) => ({
    size: async () => (await deps.table.find(key))?.offset_bytes ?? 0,
    append: (offset, body) => append(deps, key, offset, body),
    complete: (size) => complete(deps, key, size),
    async discard() {
      const row = await deps.table.remove(key);
      if (row !== undefined) await removeParts(deps, row);
    },
  });
}

/** Deletes the stored bytes of a row that was removed. */
export async function removeParts(
  { multipart, remove }: Pick<S3PartialDeps, "multipart" | "remove">,
  row: PartialRow,
): Promise<void> {
  if (row.upload_id !== null) await multipart.abort(row.key, row.upload_id);
  if (row.tail_key !== null) await remove(row.tail_key);
}

const createWriterId = () => randomBytes(12).toString("hex");
const etagsOf = ({ etags }: PartialRow) => (etags === "" ? [] : etags.split(","));

/** Claims the row at `offset` for a new writer, or inserts one at offset 0. */
async function claimRow(
  { table, clock, partBytes }: Pick<S3PartialDeps, "table" | "clock" | "partBytes">,
  key: string,
  offset: number,
): Promise<PartialRow> {
  const writer = createWriterId();
  const now = clock.now();
  const row: PartialRow = {
    key,
    upload_id: null,
    offset_bytes: 0,
    part_bytes: partBytes,
    etags: "",
    tail_key: null,
    writer,
    updated_at: now,
  };
  const claimed = await table.claim(key, offset, { writer, now });
  if (claimed !== undefined) return claimed;
  if (offset === 0 && (await table.insert(row))) return row;
  const size = (await table.find(key))?.offset_bytes ?? 0;
  throw storeErrors.badOffset({ key, offset, size });
}

async function append(
  deps: S3PartialDeps,
  key: string,
  offset: number,
  body: AsyncIterable<Uint8Array>,
): Promise<number> {
  const row = await claimRow(deps, key, offset);
  const spool = deps.createSpool();
  const writer = createWriter(deps, row, spool);
  try {
    if (row.tail_key !== null) await spool.write(await readTail(deps.requests, row.tail_key));
    let failure: { err: unknown } | undefined;
    let isStorageFailure = false;
    const store = async (chunk: Uint8Array) => {
      isStorageFailure = true;
      for (let at = 0; at < chunk.length;) {
        if (spool.size >= row.part_bytes) await writer.sendPart();
        const taken = chunk.subarray(at, at + row.part_bytes - spool.size);
        await spool.write(taken);
        at += taken.length;
      }
      isStorageFailure = false;
    };
    try {
      for await (const chunk of body) await store(chunk);
    } catch (err) {
      if (isStorageFailure) throw err;
      failure = { err };
    }
    // Keeps the bytes that arrived before an error of the source.
    const stored = await writer.finish();
    if (failure !== undefined) throw failure.err;
    return stored;
  } catch (err) {
    await writer.abandon();
    throw err;
  } finally {
    await spool.close();
  }
}

/** Stores the bytes of the spool, and advances the row in the order of the parts. */
function createWriter(deps: S3PartialDeps, row: PartialRow, spool: PartSpool) {
  const { table, clock, multipart, parts, requests, remove } = deps;
  const { key, part_bytes: partBytes, writer } = row;
  /** The row as this writer last stored it. */
  let stored = row;
  let uploadId = row.upload_id;
  let count = etagsOf(row).length;
  const steps: Promise<void>[] = [];
  let lastStep = Promise.resolve();

  async function replaced(cause?: unknown): Promise<Error> {
    const now = await table.find(key);
    // The multipart upload was aborted by something else, such as a lifecycle rule, and its parts are gone.
    if (now?.writer === writer) {
      await table.remove(key, writer);
      return storeErrors.partialDamaged({ key, reason: "its multipart upload was aborted" }, { cause });
    }
    return storeErrors.partialReplaced({ key, offset: now?.offset_bytes ?? 0 }, { cause });
  }

  async function advance(values: Pick<PartialRow, "upload_id" | "offset_bytes" | "etags" | "tail_key">) {
    const previousTail = stored.tail_key;
    if (!(await table.advance(stored, { ...values, updated_at: clock.now() }))) throw await replaced();
    stored = { ...stored, ...values };
    if (previousTail !== null) await remove(previousTail);
  }

  async function sendPart(): Promise<void> {
    await steps[steps.length - MAX_CONCURRENT_PARTS];
    // A writer that has been replaced must not send more parts.
    if ((await table.find(key))?.writer !== writer) throw await replaced();
    const id = (uploadId ??= await multipart.begin(key));
    const number = ++count;
    const { sent } = await parts.start(spool, (bytes) => multipart.part(key, id, number, bytes));
    lastStep = lastStep.then(async () => {
      const etag = await sent.catch(async (err: unknown) => {
        throw isStoreError(err, "absent") ? await replaced(err) : err;
      });
      const etags = [...etagsOf(stored), etag].join(",");
      await advance({ upload_id: id, offset_bytes: number * partBytes, etags, tail_key: null });
    });
    lastStep.catch(() => {});
    steps.push(lastStep);
  }

  return {
    sendPart,
    /** Resolves with the number of bytes that are stored and acknowledged. */
    async finish(): Promise<number> {
      if (spool.size === partBytes) await sendPart();
      await lastStep;
      const offset = count * partBytes + spool.size;
      if (offset > stored.offset_bytes) {
        const tailKey = `${TAIL_PREFIX}${createHash("sha256").update(key).digest("hex")}-${createWriterId()}`;
        const { sent } = await parts.start(spool, (bytes) => putBytes(requests, tailKey, bytes));
        await sent;
        try {
          await advance({ upload_id: uploadId, offset_bytes: offset, etags: stored.etags, tail_key: tailKey });
        } catch (err) {
          // After any other error, the row may refer to the tail: the database may have committed without a response.
          if (isStoreError(err, "partialReplaced") || isStoreError(err, "partialDamaged")) await remove(tailKey);
          throw err;
        }
      }
      return offset;
    },
    /** After an error: aborts an upload that no row refers to. */
    async abandon(): Promise<void> {
      await Promise.allSettled(steps);
      if (uploadId === null || stored.upload_id !== null) return;
      try {
        // The database may have committed the first update without a response.
        if ((await table.find(key))?.upload_id !== uploadId) await multipart.abort(key, uploadId);
      } catch {
        // The sweep aborts the upload.
      }
    },
  };
}

async function readTail(requests: S3WriteDeps["requests"], tailKey: string): Promise<Buffer> {
  const tail = await openS3Object(requests, tailKey);
  if (tail === undefined) throw storeErrors.partialDamaged({ key: tailKey, reason: "its last bytes are missing" });
  return tail.bytes();
}

async function complete(deps: S3PartialDeps, key: string, size: number): Promise<void> {
  const { table, clock, requests, remove } = deps;
  const found = await table.find(key);
  if (found === undefined) {
    // An earlier call has completed the object.
    if ((await headObject(requests, key))?.size === size) return;
    throw storeErrors.absent({ key });
  }
  const row = await table.claim(key, size, { writer: createWriterId(), now: clock.now() });
  if (row === undefined) throw storeErrors.badOffset({ key, offset: size, size: found.offset_bytes });
  try {
    if (row.upload_id !== null) await completeParts(deps, row, row.upload_id);
    else if (row.tail_key !== null) await copyTail(requests, row.tail_key, key);
    else await putBytes(requests, key, Buffer.alloc(0));
  } catch (err) {
    if (isStoreError(err, "partialDamaged") || isStoreError(err, "absent")) {
      // The upload cannot be resumed: it must start again from 0.
      const removed = await table.remove(key, row.writer);
      if (removed !== undefined) await removeParts(deps, removed).catch(() => {});
    }
    throw err;
  }
  const removed = await table.remove(key, row.writer);
  // If the row is gone, another process has completed the object and removes the tail.
  if (removed !== undefined && row.tail_key !== null) await remove(row.tail_key);
}

async function completeParts(deps: S3PartialDeps, row: PartialRow, uploadId: string): Promise<void> {
  const { requests, multipart } = deps;
  const { key, offset_bytes: size } = row;
  const etags = etagsOf(row);
  if (row.tail_key !== null) {
    const tail = await readTail(requests, row.tail_key);
    try {
      etags.push(await multipart.part(key, uploadId, etags.length + 1, tail));
    } catch (err) {
      // An earlier call may have completed the object without removing the row.
      etags.push(createHash("md5").update(tail).digest("hex"));
      if (isStoreError(err, "absent") && (await multipart.isStored(key, etags, size))) return;
      throw err;
    }
  }
  await multipart.complete(key, uploadId, etags, size);
}

async function copyTail(requests: S3WriteDeps["requests"], tailKey: string, key: string): Promise<void> {
  const { sdk, at, send } = requests;
  try {
    await send(key, (client, options) =>
      client.send(new sdk.CopyObjectCommand({ ...at(key), CopySource: copySource(requests, tailKey) }), options),
    );
  } catch (err) {
    if (isMissing(err)) throw storeErrors.partialDamaged({ key, reason: "its last bytes are missing" }, { cause: err });
    throw err;
  }
}
