import { isIP } from "node:net";
import { networkSet } from "../../../kernel/networks.ts";

/** Where workers may connect to. */
export interface EgressPolicy {
  /** Loopback addresses: 127.0.0.0/8, ::1. */
  allowLoopback: boolean;
  /** Private, shared, link-local and other addresses that are no place on the internet. */
  allowPrivate: boolean;
  denyPorts: number[];
  /** Exceptions, which go before everything else: `10.1.2.3`, `10.0.0.0/8`, `fd00::/8`. */
  allow: string[];
}

/** Many workers of many people: nothing inside our own network, and nobody's mail server. */
export const SERVE_EGRESS: EgressPolicy = { allowLoopback: false, allowPrivate: false, denyPorts: [25], allow: [] };
/** A developer's own machine, on which the service to call often runs too. */
export const DEV_EGRESS: EgressPolicy = { allowLoopback: true, allowPrivate: true, denyPorts: [25], allow: [] };

/** Why a connection is refused; undefined when it is allowed. */
export type EgressCheck = (address: string, port: number) => string | undefined;

// IANA's special-purpose registries (RFC 6890): everything that is not globally reachable, multicast and broadcast included.
// ::/96 holds IPv4 addresses in an old dress (RFC 4291 2.5.5.1); fec0::/10 was site-local once (RFC 3879).
const LOOPBACK = ["127.0.0.0/8", "::1/128"];
const NOT_PUBLIC = [
  "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
  "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
  "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
]; // prettier-ignore

export function createEgressCheck(policy: EgressPolicy): EgressCheck {
  const setOf = (ranges: readonly string[]) => networkSet(ranges, (range) => new TypeError(`egress: ${range} is neither an address nor a range`));
  const [isAllowed, isLoopback, isNotPublic] = [setOf(policy.allow), setOf(LOOPBACK), setOf(NOT_PUBLIC)];
  return (address, port) => {
    // A set holds no such thing, and what is in none of them is open.
    if (isIP(address) === 0) return "what is no address is closed to workers";
    if (isAllowed(address)) return undefined;
    if (policy.denyPorts.includes(port)) return `port ${port} is closed to workers`;
    if (isLoopback(address)) return policy.allowLoopback ? undefined : "loopback addresses are closed to workers";
    if (isNotPublic(address) && !policy.allowPrivate) return "private and special addresses are closed to workers";
    return undefined;
  };
}
