import type { GuardedFetch, GuardedResponse } from "../../kernel/guarded-fetch.ts";
import { streamErrors, throwFetchError } from "../errors.ts";

/** File metadata reported by an origin. */
interface OriginFile {
  /** In bytes; undefined if not declared. */
  size: number | undefined;
  /** A strong ETag, or the Last-Modified time; used for If-Range (RFC 9110 13.1.5). */
  version: string | undefined;
}

const REQUEST_TIMEOUT_MS = 15_000;

/**
 * Sends HEAD; if the response is unusable, requests the first byte. Throws invalidUrl, urlNotPublic, notAVideo.
 */
export async function fetchOriginInfo(fetch: GuardedFetch, url: string): Promise<OriginFile> {
  const ask = async (request: Parameters<GuardedFetch>[1]) => {
    const response = await fetch(url, {
      ...request,
      headersTimeoutMs: REQUEST_TIMEOUT_MS,
      totalTimeoutMs: REQUEST_TIMEOUT_MS,
    }).catch(throwFetchError);
    response.close();
    return response;
  };
  const headResponse = await ask({ method: "HEAD" });
  let originFile = isSuccessStatus(headResponse.status) ? originFileOf(headResponse) : undefined;
  if (originFile?.size === undefined) {
    // URLs signed for one method, and custom-built servers, do not support HEAD.
    const first = await ask({ headers: { range: "bytes=0-0" } });
    if (first.status === 416) throw streamErrors.notAVideo({ reason: "it is empty" });
    if (!isSuccessStatus(first.status)) throw streamErrors.invalidUrl({ reason: describeStatus(url, first.status) });
    originFile = originFileOf(first);
  }
  if (originFile.size === 0) throw streamErrors.notAVideo({ reason: "it is empty" });
  return originFile;
}

export const isSuccessStatus = (status: number): boolean => status === 200 || status === 206;

/** Returns text for display without the query, which may contain a secret. */
export const describeStatus = (url: string, status: number): string =>
  `${URL.parse(url)?.hostname ?? "the origin"} responded with status ${status}`;

export function originFileOf({ status, headers }: Pick<GuardedResponse, "status" | "headers">): OriginFile {
  const { etag, "last-modified": modified } = headers;
  const size = totalOf(status, headers);
  return { size, version: etag?.startsWith('"') === true ? etag : modified };
}

function totalOf(
  status: number,
  { "content-range": range, "content-length": length }: GuardedResponse["headers"],
): number | undefined {
  const total = range === undefined ? undefined : /^bytes (?:\d+-\d+|\*)\/(\d+)$/.exec(range)?.[1];
  const text = total ?? (status === 206 ? undefined : length);
  const size = text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
  return Number.isSafeInteger(size) ? size : undefined;
}

/** Returns the offset of the response's first byte; undefined if it is not the requested range. */
export function rangeStart({ status, headers }: GuardedResponse): number | undefined {
  if (status === 200) return 0;
  const start = /^bytes (\d+)-/.exec(headers["content-range"] ?? "")?.[1];
  return start === undefined ? undefined : Number(start);
}

/** Returns true for status codes that a retry does not fix. */
export const isPermanentStatus = (status: number): boolean => [400, 401, 403, 404, 405, 406, 410, 451].includes(status);
