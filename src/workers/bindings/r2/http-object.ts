import type { Readable } from "node:stream";
import type { R2Buckets } from "./buckets.ts";
import { conditionsHold } from "./conditions.ts";
import { r2Errors } from "./errors.ts";
import { conditionsOf, objectHeaders, isRangeApplicable, type WantedConditions } from "./http-headers.ts";
import type { R2Object } from "./object.ts";
import { MAX_RANGE_CHARACTERS } from "./range.ts";

/** The response to GET or HEAD of an object (RFC 9110). */
interface HttpObject {
  status: 200 | 206 | 304;
  headers: Headers;
  object: R2Object;
  /** Read it to the end or destroy it. Absent for HEAD and 304. */
  body?: Readable;
}

/**
 * Evaluates conditions and the range of a request for an object. Throws noSuchKey, preconditionFailed, invalidRange.
 */
export async function readHttpObject(
  buckets: Pick<R2Buckets, "get" | "head">,
  { bucket, key, method, headers }: { bucket: string; key: string; method: string; headers: Headers },
): Promise<HttpObject> {
  async function head(): Promise<R2Object> {
    const object = await buckets.head(bucket, key);
    if (!object) throw r2Errors.noSuchKey();
    return object;
  }

  const conditions = conditionsOf(headers);
  if (method === "HEAD") return headResponse(await head(), conditions);
  const ifRange = headers.get("if-range");
  const range = headers.get("range");
  const usesRange = range !== null && (ifRange === null || isRangeApplicable(ifRange, await head()));
  const result = await buckets.get(bucket, key, {
    ...(usesRange && { range: { header: range } }),
    ...(conditions && { onlyIf: conditions.all }),
  });
  if (!result) throw r2Errors.noSuchKey();
  const {
    object,
    body,
    range: { offset, length },
  } = result;
  if (!body) return withoutBody(object, conditions!);
  const responseHeaders = objectHeaders(object);
  responseHeaders.set("content-length", String(length));
  const isPartial = usesRange && isOneRange(range) && object.size > 0;
  if (isPartial) responseHeaders.set("content-range", `bytes ${offset}-${offset + length - 1}/${object.size}`);
  return { status: isPartial ? 206 : 200, headers: responseHeaders, object, body };
}

function headResponse(object: R2Object, conditions: WantedConditions | undefined): HttpObject {
  const current = { etag: object.etag, uploaded: object.uploaded.getTime() };
  if (conditions && !conditionsHold(conditions.all, current)) return withoutBody(object, conditions);
  const headers = objectHeaders(object);
  headers.set("content-length", String(object.size));
  return { status: 200, headers, object };
}

/** A failed condition: 412 for preconditions, 304 for cache validation. */
function withoutBody(object: R2Object, { required }: WantedConditions): HttpObject {
  if (!conditionsHold(required, { etag: object.etag, uploaded: object.uploaded.getTime() }))
    throw r2Errors.preconditionFailed();
  const headers = objectHeaders(object);
  const cacheHeaders = ["etag", "last-modified", "cache-control", "expires"].flatMap((name) =>
    headers.has(name) ? [[name, headers.get(name)!] as [string, string]] : [],
  );
  return { status: 304, headers: new Headers(cacheHeaders), object };
}

/** Requests for multiple ranges or in another unit return the whole object (RFC 9110 14.2). */
const isOneRange = (range: string) =>
  range.length <= MAX_RANGE_CHARACTERS &&
  /^\s*bytes\s*=\s*(\d+\s*-\s*\d*|-\s*\d+)\s*$/i.test(range) &&
  !isBackwards(range);
const isBackwards = (range: string) => {
  const [, first, last] = /(\d+)\s*-\s*(\d+)/.exec(range) ?? [];
  return first !== undefined && Number(last) < Number(first);
};
