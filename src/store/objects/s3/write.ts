import { open, type FileHandle } from "node:fs/promises";
import { storeErrors } from "../../errors.ts";
import { createDigester, digestOf } from "../digest.ts";
import type { PutOptions, StoredObject } from "../port.ts";
import { isPreconditionFailed, isUnsupported } from "./errors.ts";
import { PART_BYTES, partBytesFor, type Multipart } from "./multipart.ts";
import type { PartSender } from "./part-sender.ts";
import { headObject, versionOfEtag } from "./read.ts";
import { BODY_TIMEOUT, type S3Requests } from "./requests.ts";
import type { PartSpool } from "./spool.ts";

export interface S3WriteDeps {
  requests: S3Requests;
  multipart: Multipart;
  parts: PartSender;
  createSpool(): PartSpool;
}

/** Maximum number of parts of one object that are sent concurrently. */
const MAX_CONCURRENT_PARTS = 4;

/** Sends up to 8 MiB in one request, and a larger body in a multipart upload, which is aborted if anything fails. */
export async function writeS3Object(
  deps: S3WriteDeps,
  key: string,
  body: Uint8Array | AsyncIterable<Uint8Array>,
  options: PutOptions,
): Promise<StoredObject> {
  if (!(body instanceof Uint8Array)) return writeStream(deps, key, body, options);
  const { maxBytes = Infinity, digests, ifAbsent = false } = options;
  if (body.length > maxBytes) throw storeErrors.tooLarge({ maxBytes });
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const stored = digestOf(bytes, digests);
  if (bytes.length <= PART_BYTES) return { ...stored, ...(await putBytes(deps.requests, key, bytes, { ifAbsent })) };
  if (ifAbsent && (await headObject(deps.requests, key))) return { ...stored, isExisting: true };
  await writeParts(deps, key, bytes.length, async (start, end) => bytes.subarray(start, end));
  return stored;
}

/**
 * Stores the object in one request. With `ifAbsent` on a server without conditional writes, checks first whether the
 * object exists.
 */
export async function putBytes(
  requests: S3Requests,
  key: string,
  bytes: Buffer,
  { ifAbsent = false }: { ifAbsent?: boolean } = {},
): Promise<Pick<StoredObject, "version" | "isExisting">> {
  const { sdk, at, send } = requests;
  const put = (condition: { IfNoneMatch?: string }) =>
    send(
      key,
      (client, options) =>
        client.send(
          new sdk.PutObjectCommand({ ...at(key), Body: bytes, ContentLength: bytes.length, ...condition }),
          options,
        ),
      BODY_TIMEOUT,
    );
  try {
    const { ETag } = await put(ifAbsent ? { IfNoneMatch: "*" } : {});
    return ETag === undefined ? {} : { version: versionOfEtag(ETag, bytes.length) };
  } catch (err) {
    if (ifAbsent && isPreconditionFailed(err)) return { isExisting: true };
    if (!ifAbsent || !isUnsupported(err)) throw err;
  }
  if (await headObject(requests, key)) return { isExisting: true };
  await put({});
  return {};
}

/** Stores the bytes of a file. Rethrows errors of the file unchanged. */
export async function storeS3File(deps: S3WriteDeps, key: string, path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    if (size <= PART_BYTES) await putBytes(deps.requests, key, await readPart(file, 0, size));
    else await writeParts(deps, key, size, (start, end) => readPart(file, start, end));
  } finally {
    await file.close();
  }
}

async function readPart(file: FileHandle, start: number, end: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(end - start);
  for (let done = 0; done < bytes.length;) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, start + done);
    if (bytesRead === 0) return bytes.subarray(0, done);
    done += bytesRead;
  }
  return bytes;
}

/** Sends the parts of an object of known size concurrently. */
async function writeParts(
  { multipart, parts }: S3WriteDeps,
  key: string,
  size: number,
  load: (start: number, end: number) => Promise<Buffer>,
): Promise<void> {
  const partBytes = partBytesFor(size);
  const count = Math.ceil(size / partBytes);
  const etags: string[] = Array.from({ length: count });
  const uploadId = await multipart.begin(key);
  let next = 0;
  const sendParts = async () => {
    for (let index = next++; index < count; index = next++) {
      const start = index * partBytes;
      const take = () => load(start, Math.min(size, start + partBytes));
      const { sent } = await parts.start({ take }, (bytes) => multipart.part(key, uploadId, index + 1, bytes));
      etags[index] = await sent;
    }
  };
  const senders = Array.from({ length: MAX_CONCURRENT_PARTS }, sendParts);
  try {
    await Promise.all(senders);
    await multipart.complete(key, uploadId, etags, size);
  } catch (err) {
    next = count;
    await Promise.allSettled(senders);
    await multipart.abort(key, uploadId).catch(() => {});
    throw err;
  }
}

async function writeStream(
  { requests, multipart, parts, createSpool }: S3WriteDeps,
  key: string,
  body: AsyncIterable<Uint8Array>,
  { maxBytes = Infinity, digests, ifAbsent = false }: PutOptions,
): Promise<StoredObject> {
  const digester = createDigester(digests);
  const spool = createSpool();
  const sending: Promise<string>[] = [];
  let uploadId: string | undefined;
  let isExisting = false;

  async function sendPart(): Promise<void> {
    if (ifAbsent && sending.length === 0) isExisting ||= (await headObject(requests, key)) !== undefined;
    if (isExisting) return void (await spool.take());
    const id = (uploadId ??= await multipart.begin(key));
    const number = sending.length + 1;
    await sending[number - 1 - MAX_CONCURRENT_PARTS];
    const { sent } = await parts.start(spool, (bytes) => multipart.part(key, id, number, bytes));
    sending.push(sent);
  }

  try {
    for await (const chunk of body) {
      digester.update(chunk);
      if (digester.size() > maxBytes) throw storeErrors.tooLarge({ maxBytes });
      for (let at = 0; at < chunk.length;) {
        // A full part is sent only when more data arrives, so that an object of exactly one part needs a single
        // request.
        if (spool.size === PART_BYTES) await sendPart();
        const taken = chunk.subarray(at, at + PART_BYTES - spool.size);
        await spool.write(taken);
        at += taken.length;
      }
    }
    const stored = digester.finish();
    if (isExisting) return { ...stored, isExisting: true };
    if (uploadId === undefined) {
      const { sent } = await parts.start(spool, (bytes) => putBytes(requests, key, bytes, { ifAbsent }));
      return { ...stored, ...(await sent) };
    }
    await sendPart();
    await multipart.complete(key, uploadId, await Promise.all(sending), stored.size);
    return stored;
  } catch (err) {
    await Promise.allSettled(sending);
    if (uploadId !== undefined) await multipart.abort(key, uploadId).catch(() => {});
    throw err;
  } finally {
    await spool.close();
  }
}
