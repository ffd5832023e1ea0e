import { r2Errors } from "./errors.ts";
import type { Conditions, Etag, Metadata, R2Object } from "./object.ts";

const METADATA_HEADERS = {
  contentType: "content-type",
  contentLanguage: "content-language",
  contentDisposition: "content-disposition",
  contentEncoding: "content-encoding",
  cacheControl: "cache-control",
} as const;
/** S3's prefix for custom metadata headers. */
const CUSTOM_PREFIX = "x-amz-meta-";

/** Returns the metadata that an upload sets for its object. */
export function metadataFromHeaders(headers: Headers): Required<Pick<Metadata, "httpMetadata" | "customMetadata">> {
  const httpMetadata = Object.fromEntries(
    Object.entries(METADATA_HEADERS).flatMap(([field, name]) => {
      const value = headers.get(name);
      return value === null || value === "" ? [] : [[field, utf8Of(value)]];
    }),
  );
  const expires = headers.get("expires");
  const cacheExpiry = expires === null || expires === "" ? undefined : new Date(expires);
  if (cacheExpiry && Number.isNaN(cacheExpiry.getTime()))
    throw r2Errors.invalidArgument({ problem: `The header expires is not a date: ${JSON.stringify(expires)}.` });
  const customMetadata = Object.fromEntries(
    [...headers].flatMap(([name, value]) =>
      name.startsWith(CUSTOM_PREFIX) && name !== CUSTOM_PREFIX
        ? [[name.slice(CUSTOM_PREFIX.length), wordOf(value)]]
        : [],
    ),
  );
  return { httpMetadata: { ...httpMetadata, ...(cacheExpiry && { cacheExpiry }) }, customMetadata };
}

/** Metadata headers of a download, excluding length and range. */
export function objectHeaders({ etag, uploaded, httpMetadata, customMetadata, storageClass }: R2Object): Headers {
  const headers = new Headers({
    etag: `"${etag}"`,
    "last-modified": uploaded.toUTCString(),
    "accept-ranges": "bytes",
    "cf-r2-storage-class": storageClass,
  });
  for (const [field, name] of Object.entries(METADATA_HEADERS)) {
    const value = httpMetadata[field as keyof typeof METADATA_HEADERS];
    if (value !== undefined) setHeader(headers, name, value);
  }
  if (!headers.has("content-type")) headers.set("content-type", "application/octet-stream");
  if (httpMetadata.cacheExpiry) headers.set("expires", httpMetadata.cacheExpiry.toUTCString());
  for (const [name, value] of Object.entries(customMetadata)) setHeader(headers, `${CUSTOM_PREFIX}${name}`, value);
  return headers;
}

/**
 * Text beyond ASCII is sent as an encoded word (RFC 2047), as S3 does: Node's choice between Latin-1 and UTF-8 for a
 * header depends on the order of writes. A worker may have stored values that cannot be sent in a header: those are
 * omitted here but included in the object list.
 */
function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, ASCII.test(value) ? value : `=?UTF-8?B?${Buffer.from(value).toString("base64")}?=`);
  } catch {
    // The name or value is not valid in a header.
  }
}

const ASCII = /^[\t\x20-\x7e]*$/;
const ENCODED_WORD = /^=\?utf-8\?(?:b\?([A-Za-z0-9+/=]*)|q\?([!-~]*))\?=$/i;

/** Decodes a value that is a single encoded word in UTF-8 (RFC 2047 2). */
function wordOf(value: string): string {
  const [, base64, quoted] = ENCODED_WORD.exec(value) ?? [];
  if (base64 !== undefined) return Buffer.from(base64, "base64").toString();
  if (quoted !== undefined)
    return Buffer.from(
      quoted
        .replaceAll("_", " ")
        .replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
      "latin1",
    ).toString();
  return utf8Of(value);
}

/** Some clients send raw UTF-8, which Node and fetch decode as Latin-1. */
function utf8Of(value: string): string {
  const bytes = Buffer.from(value, "latin1");
  const text = bytes.toString();
  // If it is not valid UTF-8, the value was Latin-1.
  return Buffer.from(text).equals(bytes) ? text : value;
}

export interface WantedConditions {
  all: Conditions;
  /**
   * If one of these conditions is not met, the response is 412; for the others it is 304 on a read (RFC 9110 13.2.2).
   */
  required: Conditions;
}

/**
 * Returns the conditions in If-Match and similar headers; undefined if the request has none of them. An invalid date is
 * ignored (RFC 9110 13.1.3).
 */
export function conditionsOf(headers: Headers): WantedConditions | undefined {
  const match = etagsOf(headers.get("if-match"));
  const noneMatch = etagsOf(headers.get("if-none-match"));
  const unmodifiedSince = dateOf(headers.get("if-unmodified-since"));
  const modifiedSince = dateOf(headers.get("if-modified-since"));
  if (!match && !noneMatch && !unmodifiedSince && !modifiedSince) return undefined;
  const required = {
    secondsGranularity: true,
    ...(match && { etagMatches: match }),
    // "Not after" this second means "before" the next one.
    ...(unmodifiedSince && { uploadedBefore: new Date(unmodifiedSince.getTime() + 1000) }),
  };
  return {
    required,
    all: {
      ...required,
      ...(noneMatch && { etagDoesNotMatch: noneMatch }),
      ...(modifiedSince && { uploadedAfter: modifiedSince }),
    },
  };
}

/** Parses entity tags (RFC 9110 8.8.3); missing quotes are tolerated. */
function etagsOf(header: string | null): Etag[] | undefined {
  if (header === null) return undefined;
  if (header.trim() === "*") return [{ type: "wildcard" }];
  return [...header.matchAll(/(W\/)?(?:"([^"]*)"|([^\s,"]+))/g)].map(([, weak, quoted, etagText]) => ({
    type: weak === undefined ? "strong" : "weak",
    value: quoted ?? etagText!,
  }));
}

function dateOf(header: string | null): Date | undefined {
  const date = new Date(header ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** True if a Range header applies to this version of the object (RFC 9110 13.1.5). */
export function isRangeApplicable(
  ifRange: string | null,
  { etag, uploaded }: Pick<R2Object, "etag" | "uploaded">,
): boolean {
  if (ifRange === null) return true;
  if (ifRange.startsWith('"')) return ifRange === `"${etag}"`;
  return dateOf(ifRange)?.getTime() === Math.floor(uploaded.getTime() / 1000) * 1000;
}
