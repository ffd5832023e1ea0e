import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { networkSet, unmappedAddress } from "./networks.ts";

export interface ClientAddress {
  /** Returns the client's address: the peer, or the address that a trusted proxy reports. */
  ip(request: IncomingMessage): string | undefined;
  /** `http` or `https`, as seen by the client. */
  scheme(request: IncomingMessage): "http" | "https";
}

/** The client of a request that another node has forwarded. */
export interface OriginalClient {
  ip: string | undefined;
  scheme: "http" | "https";
}

const ORIGINAL = Symbol("original client");
type MaybeForwarded = IncomingMessage & { [ORIGINAL]?: OriginalClient };

/** Makes `client` the client of the request in place of the peer. Only for requests from authenticated nodes. */
export function markForwarded(request: IncomingMessage, client: OriginalClient): void {
  (request as MaybeForwarded)[ORIGINAL] = client;
}

/** True if another node has forwarded the request. */
export const isForwarded = (request: IncomingMessage): boolean => (request as MaybeForwarded)[ORIGINAL] !== undefined;

/**
 * `trusted`: addresses and CIDR ranges of proxies. X-Forwarded-* headers from other peers are ignored. Throws TypeError
 * for invalid entries, which the settings reject earlier.
 */
export function createClientAddress(trusted: readonly string[]): ClientAddress {
  const isTrusted = networkSet(
    trusted,
    (range) => new TypeError(`http.trusted_proxies: ${range} is neither an IP address nor a range`),
  );

  return {
    ip(request) {
      const original = (request as MaybeForwarded)[ORIGINAL];
      if (original !== undefined) return original.ip;
      const peer = toPlainAddress(request.socket.remoteAddress);
      if (trusted.length === 0 || !isTrusted(peer)) return peer;
      // From the right: the last hop that is not a trusted proxy is the client.
      const hops = String(request.headers["x-forwarded-for"] ?? "")
        .split(",")
        .map((hop) => toPlainAddress(hop.trim()))
        .filter((hop) => hop !== undefined && isIP(hop) !== 0);
      return hops.findLast((hop) => !isTrusted(hop)) ?? hops[0] ?? peer;
    },
    scheme(request) {
      const original = (request as MaybeForwarded)[ORIGINAL];
      if (original !== undefined) return original.scheme;
      if ("encrypted" in request.socket && request.socket.encrypted === true) return "https";
      return isTrusted(toPlainAddress(request.socket.remoteAddress)) && request.headers["x-forwarded-proto"] === "https"
        ? "https"
        : "http";
    },
  };
}

const toPlainAddress = (address: string | undefined) => (address === undefined ? undefined : unmappedAddress(address));
