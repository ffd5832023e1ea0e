import type { GuardedFetch, GuardedResponse } from "../../kernel/guarded-fetch.ts";
import { streamErrors } from "../errors.ts";

/** What an origin tells of a file. */
export interface OriginFile {
  /** Octets; undefined where it does not say. */
  size: number | undefined;
  /** A strong ETag, or the time of its last change: for If-Range (RFC 9110 13.1.5). */
  version: string | undefined;
}

const ASK_MS = 15_000;

/** Asks by HEAD; where that is not answered as it should be, for the first octet. Throws invalidUrl, notAVideo, and what `fetch` throws. */
export async function askOrigin(fetch: GuardedFetch, url: string): Promise<OriginFile> {
  const head = await fetch(url, { method: "HEAD", headersMs: ASK_MS, totalMs: ASK_MS });
  head.close();
  let found = isFine(head.status) ? describe(head) : undefined;
  if (found?.size === undefined) {
    // Addresses that are signed for one method, and servers of one's own making, know no HEAD.
    const first = await fetch(url, { headers: { range: "bytes=0-0" }, headersMs: ASK_MS, totalMs: ASK_MS });
    first.close();
    if (first.status === 416) throw streamErrors.notAVideo({ reason: "it is empty" });
    if (!isFine(first.status)) throw streamErrors.invalidUrl({ reason: answered(url, first.status) });
    found = describe(first);
  }
  if (found.size === 0) throw streamErrors.notAVideo({ reason: "it is empty" });
  return found;
}

export const isFine = (status: number): boolean => status === 200 || status === 206;

/** For people; what comes behind the path may be a secret. */
export const answered = (url: string, status: number): string =>
  `${URL.parse(url)?.hostname ?? "the origin"} answered with the status ${status}`;

export function describe({ status, headers }: Pick<GuardedResponse, "status" | "headers">): OriginFile {
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

/** Where the octets of an answer begin; undefined where they are not what was asked for. */
export function startOf({ status, headers }: GuardedResponse): number | undefined {
  if (status === 200) return 0;
  const start = /^bytes (\d+)-/.exec(headers["content-range"] ?? "")?.[1];
  return start === undefined ? undefined : Number(start);
}

/** Errors that asking once more does not mend. */
export const isForGood = (status: number): boolean => [400, 401, 403, 404, 405, 406, 410, 451].includes(status);
