import type { Readable } from "node:stream";
import { Fault } from "../../../kernel/index.ts";
import { storeErrors } from "../../errors.ts";
import type { ObjectHandle } from "../port.ts";
import { isMissing, isPreconditionFailed, isRangeInvalid } from "./errors.ts";
import { BODY_TIMEOUT, type S3Requests } from "./requests.ts";
import { createRangeStream } from "./stream.ts";

/** An open object: reads return its bytes at the time when it was opened. */
export interface OpenedS3Object extends ObjectHandle {
  /** Reads `end - start + 1` bytes into memory. Throws StoreError objectChanged. */
  range(start: number, end: number): Promise<Buffer>;
}

/** open() also reads this much, so that a small object costs only one request. */
const HEAD_BYTES = 256 * 1024;

interface Head {
  size: number;
  etag: string | undefined;
  /** The first bytes. */
  bytes: Buffer;
}

export async function openS3Object(requests: S3Requests, key: string): Promise<OpenedS3Object | undefined> {
  const head = await readHead(requests, key);
  return head && handleOf(requests, key, head);
}

async function readHead({ sdk, at, send }: S3Requests, key: string): Promise<Head | undefined> {
  try {
    return await send(key, async (client, options) => {
      const command = new sdk.GetObjectCommand({ ...at(key), Range: `bytes=0-${HEAD_BYTES - 1}` });
      const { Body, ContentRange, ContentLength, ETag } = await client.send(command, options);
      const size = Number(/\/(\d+)$/.exec(ContentRange ?? "")?.[1] ?? ContentLength);
      if (!Number.isSafeInteger(size)) throw new Fault(`S3 returned no size for ${key}`);
      return { size, etag: ETag, bytes: await collect(Body as Readable, Math.min(size, HEAD_BYTES)) };
    });
  } catch (err) {
    if (isMissing(err)) return undefined;
    // The object is empty, so a range cannot be satisfied.
    if (isRangeInvalid(err)) return emptyHead({ sdk, at, send }, key);
    throw err;
  }
}

async function emptyHead({ sdk, at, send }: Pick<S3Requests, "sdk" | "at" | "send">, key: string) {
  const found = await headObject({ sdk, at, send }, key);
  if (found === undefined) return undefined;
  return { size: found.size, etag: found.etag, bytes: Buffer.alloc(0) };
}

/** Returns the size and ETag of an object; undefined if it is missing. */
export async function headObject(
  { sdk, at, send }: Pick<S3Requests, "sdk" | "at" | "send">,
  key: string,
): Promise<{ size: number; etag: string | undefined } | undefined> {
  try {
    const { ContentLength = 0, ETag } = await send(key, (client, options) =>
      client.send(new sdk.HeadObjectCommand(at(key)), options),
    );
    return { size: ContentLength, etag: ETag };
  } catch (err) {
    if (isMissing(err)) return undefined;
    throw err;
  }
}

/** Returns the `version` of an ObjectHandle. */
export const versionOfEtag = (etag: string, size: number): string => `${etag.replaceAll('"', "")}-${size.toString(36)}`;

function handleOf(requests: S3Requests, key: string, { size, etag, bytes: first }: Head): OpenedS3Object {
  const { sdk, at, send, failure } = requests;

  async function getRange<Output>(start: number, end: number, read: (body: Readable) => Output | Promise<Output>) {
    try {
      return await send(
        key,
        async (client, options) => {
          const command = new sdk.GetObjectCommand({ ...at(key), Range: `bytes=${start}-${end}`, IfMatch: etag });
          const { Body, ContentRange } = await client.send(command, options);
          if (ContentRange !== undefined && !ContentRange.startsWith(`bytes ${start}-`))
            throw new Fault(`S3 returned a different range of ${key} than requested: ${ContentRange}`);
          return read(Body as Readable);
        },
        BODY_TIMEOUT,
      );
    } catch (err) {
      if (isMissing(err) || isPreconditionFailed(err) || isRangeInvalid(err)) throw storeErrors.objectChanged({ key });
      throw err;
    }
  }

  const streamOf = (start: number, end: number) =>
    createRangeStream({
      first,
      start,
      end,
      request: (position) => getRange(position, end, (body) => body),
      failure: (err) => failure(err, key),
    });

  return {
    size,
    ...(etag !== undefined && { version: versionOfEtag(etag, size) }),
    read(range) {
      const { start, end = size - 1 } = range ?? { start: 0 };
      const isValidRange =
        Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start < size && end >= start;
      if (range && !isValidRange) throw storeErrors.badRange({ start, end, size });
      return streamOf(start, Math.min(end, size - 1));
    },
    async bytes() {
      if (first.length >= size) return Buffer.from(first);
      const whole = Buffer.allocUnsafeSlow(size);
      let length = 0;
      for await (const chunk of streamOf(0, size - 1) as AsyncIterable<Buffer>) length += chunk.copy(whole, length);
      return whole;
    },
    range: (start, end) =>
      end < first.length
        ? Promise.resolve(first.subarray(start, end + 1))
        : getRange(start, end, (body) => collect(body, end - start + 1)),
  };
}

/** Reads exactly `length` bytes. Throws if the response ends early; the request is then repeated. */
async function collect(body: Readable, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let position = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    // The server ignored the range and sends more. Otherwise the loop reads up to the end of the response, so that the
    // connection can be reused.
    if (position === length) break;
    position += chunk.copy(bytes, position);
  }
  if (position < length) throw new Error(`the response ended after ${position} of ${length} bytes`);
  return bytes;
}
