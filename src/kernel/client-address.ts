import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { networkSet, plainAddress } from "./networks.ts";

export interface ClientAddress {
  /** The client's address: the peer, or the address that a trusted proxy reports. */
  ip(request: IncomingMessage): string | undefined;
  /** `http` or `https`, as seen by the client. */
  scheme(request: IncomingMessage): "http" | "https";
}

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
      if ("encrypted" in request.socket && request.socket.encrypted === true) return "https";
      return isTrusted(toPlainAddress(request.socket.remoteAddress)) && request.headers["x-forwarded-proto"] === "https"
        ? "https"
        : "http";
    },
  };
}

const toPlainAddress = (address: string | undefined) => (address === undefined ? undefined : plainAddress(address));
