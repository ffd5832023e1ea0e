import type { IncomingMessage } from "node:http";
import { HOP_BY_HOP_FIELDS } from "../../protocol/http/index.ts";
import type { ClientOf } from "./client.ts";
import { INTERNAL_HEADER_PREFIX } from "./inside/shared.ts";
import type { Invocation } from "./port.ts";

type FetchEvent = Extract<Invocation["event"], { kind: "fetch" }>;

/** As in the hosted service, the value of every header whose name contains one of these is hidden in logs. */
const SECRET_HEADER_PATTERN = /auth|cookie|jwt|key|secret|token/;
const REDACTED = "REDACTED";

/** Hop-by-hop headers, and headers set by the server. */
const OMITTED_HEADERS = new Set([...HOP_BY_HOP_FIELDS, "cf-ray", "cf-connecting-ip", "x-real-ip"]);
const isLeftOut = (name: string) => OMITTED_HEADERS.has(name) || name.startsWith(INTERNAL_HEADER_PREFIX);

/**
 * Returns the headers that a worker received and passed on, without those that the record of its own request omits.
 */
export const withoutInternal = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => name === "cf-connecting-ip" || !isLeftOut(name.toLowerCase())),
  );

/** Returns the record of a request. The headers are collected only when they are read, which is rare. */
export function fetchEvent(
  request: IncomingMessage,
  clientOf: ClientOf,
  extraFields: Pick<FetchEvent, "status"> = {},
): FetchEvent {
  const { ip } = clientOf(request);
  let headers: Record<string, string> | undefined;
  let allHeaders: Record<string, string> | undefined;
  return {
    kind: "fetch",
    method: request.method ?? "GET",
    url: request.url ?? "/",
    ...extraFields,
    cf: { httpProtocol: `HTTP/${request.httpVersion}` },
    get headers() {
      return (headers ??= visibleHeaders(request.headers, ip));
    },
    get allHeaders() {
      return (allHeaders ??= visibleHeaders(request.headers, ip, () => false));
    },
  };
}

function visibleHeaders(
  requestHeaders: IncomingMessage["headers"],
  client: string,
  isSecret = (name: string) => SECRET_HEADER_PATTERN.test(name),
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(requestHeaders)) {
    if (value === undefined || isLeftOut(name)) continue;
    headers[name] = isSecret(name) ? REDACTED : Array.isArray(value) ? value.join(", ") : value;
  }
  headers["cf-connecting-ip"] = client;
  return headers;
}
