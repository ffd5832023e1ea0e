import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

export interface ClientAddress {
  /** The address a request came from: the peer's, or what a trusted proxy says it was. */
  ip(request: IncomingMessage): string | undefined;
  /** `http` or `https`, as the client sees it. */
  scheme(request: IncomingMessage): "http" | "https";
}

/** `trusted`: addresses and CIDR ranges of proxies. What anybody else writes into X-Forwarded-* is ignored. */
export function createClientAddress(trusted: readonly string[]): ClientAddress {
  const proxies = new BlockList();
  for (const range of trusted) {
    const [address, prefix] = range.split("/");
    const family = isIP(address!) === 6 ? "ipv6" : "ipv4";
    if (prefix === undefined) proxies.addAddress(address!, family);
    else proxies.addSubnet(address!, Number(prefix), family);
  }
  const isTrusted = (address: string | undefined) => address !== undefined && isIP(address) !== 0 && proxies.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

  return {
    ip(request) {
      const peer = plain(request.socket.remoteAddress);
      if (trusted.length === 0 || !isTrusted(peer)) return peer;
      // From the right: the last hop that is not one of ours is the client.
      const hops = String(request.headers["x-forwarded-for"] ?? "").split(",").map((hop) => plain(hop.trim())).filter((hop) => hop !== undefined && isIP(hop) !== 0);
      return hops.findLast((hop) => !isTrusted(hop)) ?? hops[0] ?? peer;
    },
    scheme(request) {
      if ("encrypted" in request.socket && request.socket.encrypted === true) return "https";
      return isTrusted(plain(request.socket.remoteAddress)) && request.headers["x-forwarded-proto"] === "https" ? "https" : "http";
    },
  };
}

/** IPv4 in IPv6 clothing (RFC 4291 2.5.5.2), as a socket that listens on both families sees it. */
const plain = (address: string | undefined) => address?.replace(/^::ffff:(?=\d+\.)/, "");
