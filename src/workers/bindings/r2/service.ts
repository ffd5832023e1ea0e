import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { UserError, silentLog, type Log } from "../../../kernel/index.ts";
import { isStoreError } from "../../../store/index.ts";
import type { Binding, WorkerScript } from "../../scripts/script.ts";
import type { BindingService } from "../service.ts";
import { createR2BucketList, type R2BucketList, type R2BucketListOptions } from "./bucket-list.ts";
import { createR2Buckets, type R2Buckets, type R2Options } from "./buckets.ts";
import { r2Errors } from "./errors.ts";
import type { StorageClass } from "./object.ts";
import { createRequestBody, type RequestBody } from "./request-body.ts";
import {
  encodeObject,
  encodeObjectPage,
  decodeMetadata,
  parseRequest,
  rangeOf,
  type R2Request,
  type RequestOf,
} from "./wire.ts";

export interface R2Service extends BindingService<Extract<Binding, { type: "r2_bucket" }>> {
  /** The buckets, for other callers. */
  readonly buckets: R2Buckets;
  /**
   * The buckets of accounts. A worker of an account can access only those listed there; a worker without one (`reelpost
   * dev`) needs no list.
   */
  readonly bucketList: R2BucketList;
}

/** Enough to delete a thousand keys of 1024 bytes, each byte escaped as six characters in JSON. */
const MAX_METADATA_BYTES = 8 * 1024 * 1024;
/**
 * A rejected body is read to the end up to this size, so that the client receives the error; for a longer body, the
 * connection is closed.
 */
const MAX_DRAIN_BYTES = 5 * 1024 ** 3;
/** An object up to this size is sent in one write with its metadata. */
const MAX_INLINE_BYTES = 64 * 1024;

/**
 * Creates the R2 binding in workerd's protocol (r2-rpc.c++): reads are GET with the request in a header, everything
 * else is PUT with the request before the bytes.
 */
export function createR2Service(options: R2Options & Pick<R2BucketListOptions, "onRemoved">): R2Service {
  const buckets = createR2Buckets(options);
  const bucketList = createR2BucketList({ ...options, buckets });
  const log = options.log ?? silentLog;

  async function placeOf({ account }: WorkerScript, name: string): Promise<Target> {
    if (account === undefined) return { bucket: name };
    const { id, storageClass } = await bucketList.resolve(account, name);
    return { bucket: id, storageClass, confirm: () => bucketList.confirm(id) };
  }

  return {
    buckets,
    bucketList,
    async handle(request, response, { script, binding }) {
      const bucket = binding.bucket_name;
      try {
        if (request.method === "GET") await read(buckets, (await placeOf(script, bucket)).bucket, request, response);
        else if (request.method === "PUT") await write(buckets, () => placeOf(script, bucket), request, response);
        else throw r2Errors.invalidArgument({ problem: `${request.method} is not supported.` });
      } catch (err) {
        if (isGone(err, request)) response.destroy();
        else refuse(response, translate(err, log, bucket));
      }
    },
  };
}

/** The bucket of a binding. */
interface Target {
  bucket: string;
  /** For objects written without a storage class. */
  storageClass?: StorageClass;
  /** Throws if the bucket was deleted while an object was being written to it. */
  confirm?(): Promise<void>;
}

async function read(
  buckets: R2Buckets,
  bucket: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Node decodes headers as Latin-1; workerd encodes this one as UTF-8.
  const operation = parseRequest(
    Buffer.from(String(request.headers["cf-r2-request"] ?? ""), "latin1").toString("utf8"),
  );
  switch (operation.method) {
    case "head": {
      const object = await buckets.head(bucket, operation.object);
      if (!object) throw r2Errors.noSuchKey();
      return answer(response, 200, encodeObject(object, { offset: 0, length: object.size }));
    }
    case "get":
      return get(buckets, bucket, operation, response);
    case "list": {
      const { limit, prefix, delimiter, cursor, startAfter } = operation;
      const include = operation.include?.map((field) =>
        field === 0 ? ("httpMetadata" as const) : ("customMetadata" as const),
      );
      return answer(
        response,
        200,
        encodeObjectPage(await buckets.list(bucket, { limit, prefix, delimiter, cursor, startAfter, include })),
      );
    }
    default:
      throw r2Errors.invalidArgument({ problem: `${operation.method} is not a GET request.` });
  }
}

async function get(
  buckets: R2Buckets,
  bucket: string,
  operation: RequestOf<"get">,
  response: ServerResponse,
): Promise<void> {
  const foundObject = await buckets.get(bucket, operation.object, {
    onlyIf: operation.onlyIf,
    range: rangeOf(operation),
  });
  if (!foundObject) throw r2Errors.noSuchKey();
  const metadata = encodeObject(foundObject.object, foundObject.range);
  // workerd interprets this status as "the object without its body" and needs the metadata with it.
  if (!foundObject.body) return answer(response, 412, metadata, errorHeader(r2Errors.preconditionFailed()));

  const head = Buffer.from(JSON.stringify(metadata));
  const headers = { "cf-r2-metadata-size": head.length, "content-length": head.length + foundObject.range.length };
  if (foundObject.range.length <= MAX_INLINE_BYTES) {
    const bytes = (await foundObject.body.toArray()) as Buffer[];
    return void response.writeHead(200, headers).end(Buffer.concat([head, ...bytes]));
  }
  response.writeHead(200, headers).write(head);
  await pipeline(foundObject.body, response);
}

async function write(
  buckets: R2Buckets,
  placeOf: () => Promise<Target>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = createRequestBody(request);
  try {
    const headSize = Number(request.headers["cf-r2-metadata-size"]);
    const size = Number(request.headers["content-length"] ?? Number.NaN) - headSize;
    if (!(headSize > 0 && headSize <= MAX_METADATA_BYTES))
      throw r2Errors.invalidArgument({ problem: "Metadata missing or invalid" });
    if (!(size >= 0)) throw r2Errors.missingContentLength();
    const place = await placeOf();
    const outcome = await change(buckets, place, parseRequest(await body.head(headSize)), body, size);
    await place.confirm?.();
    answer(response, 200, outcome);
  } catch (err) {
    await drain(request, body);
    throw err;
  }
}

/** workerd treats a response before the end of its own body as a lost connection. */
async function drain(request: IncomingMessage, body: RequestBody): Promise<void> {
  const announcedLength = Number(request.headers["content-length"] ?? 0);
  const isDrained = announcedLength <= MAX_DRAIN_BYTES && (await body.drain(MAX_DRAIN_BYTES).catch(() => true)); // An aborted request counts as ended.
  if (!isDrained) request.destroy();
}

/** Executes a PUT and returns the result that workerd expects. */
async function change(
  buckets: R2Buckets,
  { bucket, storageClass }: Target,
  operation: R2Request,
  body: RequestBody,
  size: number,
): Promise<object> {
  switch (operation.method) {
    case "put": {
      const { md5, sha1, sha256, sha384, sha512 } = operation;
      const options = {
        storageClass,
        ...decodeMetadata(operation),
        onlyIf: operation.onlyIf,
        checksums: { md5, sha1, sha256, sha384, sha512 },
        size,
      };
      return encodeObject(await buckets.put(bucket, operation.object, body.rest(), options));
    }
    case "delete":
      await buckets.delete(bucket, operation.objects ?? [operation.object ?? ""]);
      return {};
    case "createMultipartUpload":
      return {
        uploadId: (await buckets.createUpload(bucket, operation.object, { storageClass, ...decodeMetadata(operation) }))
          .uploadId,
      };
    case "uploadPart":
      return {
        etag: (
          await buckets.uploadPart(
            bucket,
            { key: operation.object, uploadId: operation.uploadId },
            operation.partNumber,
            body.rest(),
            { size },
          )
        ).etag,
      };
    case "completeMultipartUpload": {
      const parts = operation.parts.map(({ part, etag }) => ({ partNumber: part, etag }));
      return encodeObject(
        await buckets.completeUpload(bucket, { key: operation.object, uploadId: operation.uploadId }, parts),
      );
    }
    case "abortMultipartUpload":
      await buckets.abortUpload(bucket, { key: operation.object, uploadId: operation.uploadId });
      return {};
    default:
      throw r2Errors.invalidArgument({ problem: `${operation.method} is not a PUT request.` });
  }
}

function answer(
  response: ServerResponse,
  status: number,
  metadata: object,
  headers: Record<string, string> = {},
): void {
  const json = Buffer.from(JSON.stringify(metadata));
  response.writeHead(status, {
    "content-type": "application/json",
    "cf-r2-metadata-size": json.length,
    "content-length": json.length,
    ...headers,
  });
  response.end(json);
}

function refuse(response: ServerResponse, error: UserError): void {
  // Part of the object has been sent: the error can be signaled only by closing the connection.
  if (response.headersSent) return void response.destroy();
  response.writeHead(error.entry.http, { "content-length": 0, ...errorHeader(error) });
  response.end();
}

const errorHeader = (error: UserError) => ({
  // A header must be ASCII; JSON can escape everything else.
  "cf-r2-error": JSON.stringify({ version: 1, v4code: error.code, message: error.message }).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  ),
});

/** UserErrors keep their message; internal errors are hidden from the worker. */
function translate(err: unknown, log: Log, bucket: string): UserError {
  if (err instanceof UserError && err.domain === "r2") return err;
  log.error({ err, bucket }, "r2: request failed");
  if (isStoreError(err) && [503, 507].includes(err.entry.http)) return r2Errors.unavailable({}, { cause: err });
  return r2Errors.internal({}, { cause: err });
}

/**
 * True if the worker disconnected, or if the stream it was sending failed: no client is left to receive a response.
 */
const isGone = (err: unknown, request: IncomingMessage) =>
  err === request.errored || (err instanceof Error && "code" in err && err.code === "ERR_STREAM_PREMATURE_CLOSE");
