import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { OriginalClient } from "../kernel/client-address.ts";
import { HOP_BY_HOP_FIELDS } from "../protocol/http/index.ts";

/** Headers with which a node identifies the client of a forwarded request. */
const IP_HEADER = "reelpost-client-ip";
const SCHEME_HEADER = "reelpost-client-scheme";
const CLIENT_HEADERS = new Set([IP_HEADER, SCHEME_HEADER]);

// `expect`: the node that accepted the request has already sent 100 (Continue).
const NOT_FORWARDED = new Set([...HOP_BY_HOP_FIELDS, "expect"]);

/**
 * Returns the headers to forward, as alternating names and values: all except hop-by-hop headers and those that only
 * nodes may set.
 */
export function headersToForward({ rawHeaders, headers }: Pick<IncomingMessage, "rawHeaders" | "headers">): string[] {
  const connectionHeaders = new Set(
    String(headers.connection ?? "")
      .split(",")
      .map((name) => name.trim().toLowerCase()),
  );
  return filterHeaders(
    rawHeaders,
    (name) => !NOT_FORWARDED.has(name) && !connectionHeaders.has(name) && !CLIENT_HEADERS.has(name),
  );
}

export const clientHeaders = ({ ip, scheme }: OriginalClient): string[] => [
  ...(ip === undefined ? [] : [IP_HEADER, ip]),
  SCHEME_HEADER,
  scheme,
];

/**
 * Removes the headers that identify the client from a forwarded request, and returns the client. Undefined if they are
 * missing or invalid.
 */
export function takeClientHeaders(request: IncomingMessage): OriginalClient | undefined {
  const ip = request.headers[IP_HEADER];
  const scheme = request.headers[SCHEME_HEADER];
  for (const name of CLIENT_HEADERS) delete request.headers[name];
  request.rawHeaders = filterHeaders(request.rawHeaders, (name) => !CLIENT_HEADERS.has(name));
  if (scheme !== "http" && scheme !== "https") return undefined;
  if (ip === undefined) return { ip: undefined, scheme };
  return typeof ip === "string" && isIP(ip) !== 0 ? { ip, scheme } : undefined;
}

function filterHeaders(raw: readonly string[], isKept: (name: string) => boolean): string[] {
  const kept: string[] = [];
  for (let i = 0; i < raw.length; i += 2) if (isKept(raw[i]!.toLowerCase())) kept.push(raw[i]!, raw[i + 1]!);
  return kept;
}
