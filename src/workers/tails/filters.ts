import { isIP } from "node:net";
import { tailErrors } from "./errors.ts";
import type { TraceRecord } from "./trace.ts";

/** A filter of `POST …/tails`; a record must pass all filters of the tail. */
export type TailFilter =
  | { outcome: string[] }
  /** Greater than 0, at most 1. */
  | { sampling_rate: number }
  /** Method of a request; other records do not pass. */
  | { method: string[] }
  /** The request has the header, and its value contains `query`. Values of secret headers are never searched. */
  | { header: { key: string; query?: string } }
  | { client_ip: string[] }
  /** Text that a log or an exception contains. */
  | { query: string }
  | { scriptVersion: string };

const MAX_FILTERS = 20;
const MAX_LIST_LENGTH = 100;
const MAX_TEXT_LENGTH = 1000;

const refuse = (reason: string) => tailErrors.badFilter({ reason });

/** Validates the client's filters. `clientIp` replaces "self". Throws badFilter. */
export function parseFilters(filterInput: unknown, clientIp: string | undefined): TailFilter[] {
  if (filterInput === undefined || filterInput === null) return [];
  if (!Array.isArray(filterInput)) throw refuse("filters must be a list");
  const filters = filterInput.flatMap((filter: unknown) => {
    if (!isObject(filter)) throw refuse(`a filter must be an object, not ${JSON.stringify(filter)}`);
    return Object.entries(filter).map(([name, value]) => parseFilter(name, value, clientIp));
  });
  if (filters.length > MAX_FILTERS) throw refuse(`there are more than ${MAX_FILTERS} filters`);
  return filters;
}

function parseFilter(name: string, value: unknown, clientIp: string | undefined): TailFilter {
  switch (name) {
    case "outcome":
      return { outcome: texts(name, value) };
    case "method":
      return { method: texts(name, value).map((method) => method.toUpperCase()) };
    case "sampling_rate":
      if (typeof value !== "number" || !(value > 0 && value <= 1))
        throw refuse("sampling_rate must be a number above 0 and at most 1");
      return { sampling_rate: value };
    case "header":
      return { header: parseHeader(value) };
    case "client_ip":
      return { client_ip: texts(name, value).map((address) => parseAddress(address, clientIp)) };
    case "query":
      return { query: textOf(name, value) };
    case "scriptVersion":
      return { scriptVersion: textOf(name, value) };
    default:
      throw refuse(`there is no filter ${JSON.stringify(name.slice(0, 100))}`);
  }
}

function parseHeader(value: unknown): { key: string; query?: string } {
  if (!isObject(value)) throw refuse("header must be an object with key and query");
  const { key, query } = value;
  return {
    key: textOf("header.key", key).toLowerCase(),
    ...(query !== undefined && query !== null && { query: textOf("header.query", query) }),
  };
}

function parseAddress(address: string, clientIp: string | undefined): string {
  const resolvedAddress = address === "self" ? clientIp : address;
  if (resolvedAddress === undefined || isIP(resolvedAddress) === 0)
    throw refuse(`${JSON.stringify(address)} is not an IP address`);
  return toPlainAddress(resolvedAddress);
}

function textOf(name: string, value: unknown): string {
  if (typeof value !== "string" || value === "" || value.length > MAX_TEXT_LENGTH)
    throw refuse(`${name} must be a string of 1 to ${MAX_TEXT_LENGTH} characters`);
  return value;
}

function texts(name: string, value: unknown): string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_LIST_LENGTH)
    throw refuse(`${name} must be a list of 1 to ${MAX_LIST_LENGTH} strings`);
  return value.map((item) => textOf(name, item));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export type TracePredicate = (trace: TraceRecord) => boolean;

/**
 * `random` returns 0 to 1 and decides about sampling, which comes last: only records that pass the other filters are
 * sampled.
 */
export function compileFilters(filters: readonly TailFilter[], random: () => number): TracePredicate {
  const exactFilters: TracePredicate[] = [];
  let rate = 1;
  for (const filter of filters) {
    if ("sampling_rate" in filter) rate *= filter.sampling_rate;
    else exactFilters.push(compile(filter));
  }
  return (trace) => exactFilters.every((matchesFilter) => matchesFilter(trace)) && (rate === 1 || random() < rate);
}

function compile(filter: Exclude<TailFilter, { sampling_rate: number }>): TracePredicate {
  if ("outcome" in filter) return ({ outcome }) => filter.outcome.includes(outcome);
  if ("method" in filter) return (trace) => filter.method.includes(requestOf(trace)?.method.toUpperCase() ?? "");
  if ("scriptVersion" in filter) return ({ scriptVersion }) => scriptVersion.id === filter.scriptVersion;
  if ("query" in filter) return (trace) => textsOf(trace).some((text) => text.includes(filter.query));
  if ("client_ip" in filter)
    return (trace) => filter.client_ip.includes(toPlainAddress(requestOf(trace)?.headers["cf-connecting-ip"] ?? ""));
  const { key, query = "" } = filter.header;
  return (trace) => {
    const headers = requestOf(trace)?.headers ?? {};
    return Object.hasOwn(headers, key) && headers[key]!.includes(query);
  };
}

const requestOf = ({ event }: TraceRecord) => (event !== null && "request" in event ? event.request : undefined);

const textsOf = ({ logs, exceptions }: TraceRecord): string[] => [
  ...logs.flatMap(({ message }) =>
    message.map((part) => (typeof part === "string" ? part : (JSON.stringify(part) ?? "undefined"))),
  ),
  ...exceptions.map(({ name, message }) => `${name}: ${message}`),
];

/** IPv4-mapped IPv6 addresses (RFC 4291 2.5.5.2), as seen by a dual-stack socket. */
const toPlainAddress = (address: string) => address.replace(/^::ffff:(?=\d+\.)/i, "").toLowerCase();
