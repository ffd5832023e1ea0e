import { createHash } from "node:crypto";

/** A request as received. Header values are Latin-1 text, as Node decodes them, so that their octets are preserved. */
interface ReceivedRequest {
  method: string;
  /** The path with its percent-encoding, without the query. */
  path: string;
  /** Decoded name-value pairs in any order, without `X-Amz-Signature`. */
  query: readonly (readonly [string, string])[];
  /** Values by lower-case name; repeated headers are joined with a comma. */
  headers: Readonly<Record<string, string | undefined>>;
}

/**
 * Returns the canonical request of Signature Version 4 for S3: the path is encoded once and not normalized. Throws
 * URIError if the path is not valid UTF-8.
 */
export function canonicalRequest(
  { method, path, query, headers }: ReceivedRequest,
  signedHeaders: readonly string[],
  payloadHash: string,
): string {
  const encodedPairs = query
    .map(([name, value]) => [encodeComponent(name), encodeComponent(value)] as const)
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y));
  return [
    method,
    path.split("/").map(normalizeSegment).join("/"),
    encodedPairs.map(([name, value]) => `${name}=${value}`).join("&"),
    ...signedHeaders.map((name) => `${name}:${(headers[name] ?? "").trim().replace(/ +/g, " ")}`),
    "",
    signedHeaders.join(";"),
    payloadHash,
  ].join("\n");
}

/** Clients differ in which characters they percent-encode; the signature covers the canonical encoding. */
const normalizeSegment = (segment: string) => encodeComponent(decodeURIComponent(segment));

/** Percent-encodes all characters except the unreserved ones (RFC 3986 2.3). */
export const encodeComponent = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/** Decodes a query string, with plus signs as spaces. Throws URIError. */
export const decodeQuery = (query: string): [string, string][] =>
  query === ""
    ? []
    : query
        .split("&")
        .filter((pair) => pair !== "")
        .map((pair) => {
          const equalsSign = pair.indexOf("=");
          const [name, value] = equalsSign < 0 ? [pair, ""] : [pair.slice(0, equalsSign), pair.slice(equalsSign + 1)];
          return [decodeQueryWord(name), decodeQueryWord(value)];
        });

const decodeQueryWord = (text: string) => decodeURIComponent(text.replaceAll("+", " "));

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

export const sha256Hex = (text: string | Uint8Array): string =>
  createHash("sha256")
    .update(typeof text === "string" ? Buffer.from(text, "latin1") : text)
    .digest("hex");
