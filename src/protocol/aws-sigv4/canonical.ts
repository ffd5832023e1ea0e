import { createHash } from "node:crypto";

/** A request as it arrived. Text of headers is Latin-1, as Node decodes it, so that the octets remain unchanged. */
interface SentRequest {
  method: string;
  /** The path with its percent-encoding, without the query. */
  path: string;
  /** Name and value, decoded, in any order. Without `X-Amz-Signature`. */
  query: readonly (readonly [string, string])[];
  /** Value by lower-case name; several headers of the same name are joined with a comma. */
  headers: Readonly<Record<string, string | undefined>>;
}

/**
 * The canonical request of Signature Version 4 for S3: the path is encoded once, and not normalized. Throws URIError for
 * a path that is not valid UTF-8.
 */
export function canonicalRequest(
  { method, path, query, headers }: SentRequest,
  signedHeaders: readonly string[],
  payloadHash: string,
): string {
  const pairs = query
    .map(([name, value]) => [encodeComponent(name), encodeComponent(value)] as const)
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y));
  return [
    method,
    path.split("/").map(reencode).join("/"),
    pairs.map(([name, value]) => `${name}=${value}`).join("&"),
    ...signedHeaders.map((name) => `${name}:${(headers[name] ?? "").trim().replace(/ +/g, " ")}`),
    "",
    signedHeaders.join(";"),
    payloadHash,
  ].join("\n");
}

/** Clients differ in the characters that they encode; the signature is about the canonical form. */
const reencode = (segment: string) => encodeComponent(decodeURIComponent(segment));

/** Encodes all but the unreserved characters (RFC 3986 2.3). */
export const encodeComponent = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/** Decodes a query string in which a plus sign is a space. Throws URIError. */
export const decodeQuery = (query: string): [string, string][] =>
  query === ""
    ? []
    : query
        .split("&")
        .filter((pair) => pair !== "")
        .map((pair) => {
          const at = pair.indexOf("=");
          const [name, value] = at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
          return [decodeWord(name), decodeWord(value)];
        });

const decodeWord = (text: string) => decodeURIComponent(text.replaceAll("+", " "));

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

export const sha256Hex = (text: string | Uint8Array): string =>
  createHash("sha256")
    .update(typeof text === "string" ? Buffer.from(text, "latin1") : text)
    .digest("hex");
