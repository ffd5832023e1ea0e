import { BlockList, isIP } from "node:net";

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
  const allowed = blockList(policy.allow);
  const loopback = blockList(LOOPBACK);
  const notPublic = blockList(NOT_PUBLIC);
  return (given, port) => {
    const address = unmapped(given);
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    if (allowed.check(address, family)) return undefined;
    if (policy.denyPorts.includes(port)) return `port ${port} is closed to workers`;
    if (loopback.check(address, family)) return policy.allowLoopback ? undefined : "loopback addresses are closed to workers";
    if (notPublic.check(address, family) && !policy.allowPrivate) return "private and special addresses are closed to workers";
    return undefined;
  };
}

/** ::ffff:10.0.0.1 (and ::ffff:a00:1) is 10.0.0.1 in another dress (RFC 4291 2.5.5.2). */
function unmapped(address: string): string {
  const [, tail] = /^::ffff:(.+)$/i.exec(address) ?? [];
  if (tail === undefined) return address;
  if (isIP(tail) === 4) return tail;
  const [high = 0, low = 0] = tail.split(":").map((word) => Number.parseInt(word, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

function blockList(ranges: string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", bits] = range.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    if (isIP(address) === 0) throw new TypeError(`egress: ${range} is neither an address nor a range`);
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}
