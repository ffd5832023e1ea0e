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

/** Returns the record of a request. */
export const fetchEvent = (
  request: IncomingMessage,
  clientOf: ClientOf,
  { status }: Pick<FetchEvent, "status"> = {},
): FetchEvent => new RequestRecord(request, clientOf(request).ip, status);

/**
 * Collects the headers only when they are read, which is rare. A class: for each object literal with accessors, V8
 * allocates new ones in the old generation.
 */
class RequestRecord implements FetchEvent {
  readonly kind = "fetch";
  readonly method: string;
  readonly url: string;
  readonly status?: number;
  readonly cf: FetchEvent["cf"];
  readonly #requestHeaders: IncomingMessage["headers"];
  readonly #ip: string;
  #headers: Record<string, string> | undefined;
  #allHeaders: Record<string, string> | undefined;

  constructor(request: IncomingMessage, ip: string, status: number | undefined) {
    this.method = request.method ?? "GET";
    this.url = request.url ?? "/";
    if (status !== undefined) this.status = status;
    this.cf = { httpProtocol: `HTTP/${request.httpVersion}` };
    this.#requestHeaders = request.headers;
    this.#ip = ip;
  }

  get headers(): Record<string, string> {
    return (this.#headers ??= visibleHeaders(this.#requestHeaders, this.#ip));
  }

  get allHeaders(): Record<string, string> {
    return (this.#allHeaders ??= visibleHeaders(this.#requestHeaders, this.#ip, () => false));
  }
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
