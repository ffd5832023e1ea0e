import { headerValue, type HeaderField } from "../rfc5322/index.ts";

/** Returns the media type of an entity in lower case; default "text/plain" (RFC 2045 5.2). */
export const mediaTypeOf = (fields: HeaderField[]): string =>
  /^[^\s;]+/.exec(headerValue(fields, "content-type") ?? "")?.[0].toLowerCase() ?? "text/plain";

/** Returns the boundary parameter of a Content-Type (RFC 2046 5.1.1), if present. */
export function boundaryOf(contentType: string): string | undefined {
  const [, quotedBoundary, plainBoundary] =
    /;\s*boundary\s*=\s*(?:"((?:[^"\\]|\\.){1,200})"|([^\s;"]{1,200}))/i.exec(contentType) ?? [];
  return quotedBoundary?.replace(/\\(.)/g, "$1") ?? plainBoundary;
}

/** Returns the content transfer encoding in lower case; default "7bit" (RFC 2045 6.1). */
export const transferEncodingOf = (fields: HeaderField[]): string =>
  (headerValue(fields, "content-transfer-encoding") ?? "7bit")
    .replace(/\([^()]*\)/g, "")
    .trim()
    .toLowerCase();
