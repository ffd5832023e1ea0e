import { BlockList, isIP, isIPv6 } from "node:net";

/** IP addresses and ranges, as used in settings, tokens and limits. */

// `protocol` does no I/O and must not import node:net, but these functions only read text.
export { isIP, isIPv4, isIPv6 } from "node:net";

/** A single address is a range of one. */
interface Network {
  address: string;
  /** Number of common prefix bits. */
  prefix: number;
  family: "ipv4" | "ipv6";
}

/** "10.0.0.5", "10.0.0.0/8", "2001:db8::/32"; undefined for anything else. */
export function parseNetwork(text: string): Network | undefined {
  const [, address = "", digits] = /^([^/%\s]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  const maxPrefix = version === 4 ? 32 : 128;
  const prefix = digits === undefined ? maxPrefix : Number(digits);
  return version === 0 || prefix > maxPrefix ? undefined : { address, prefix, family: version === 4 ? "ipv4" : "ipv6" };
}

/** Tests whether a set contains an address. Invalid addresses are in no set. */
export type NetworkSet = (ip: string | undefined) => boolean;

/**
 * Throws the error returned by `refuse` for an invalid entry. An IPv4 range also contains its IPv4-mapped IPv6
 * addresses.
 */
export function networkSet(ranges: readonly string[], refuse: (range: string) => Error): NetworkSet {
  const list = new BlockList();
  for (const range of ranges) {
    const network = parseNetwork(range);
    if (network === undefined) throw refuse(range);
    list.addSubnet(network.address, network.prefix, network.family);
  }
  return (ip) => {
    const plain = unmappedAddress(ip).replace(/%.*$/, "");
    return ranges.length > 0 && isIP(plain) !== 0 && list.check(plain, isIPv6(plain) ? "ipv6" : "ipv4");
  };
}

/** Converts an IPv4-mapped IPv6 address (RFC 4291 2.5.5.2), as dual-stack sockets report it, to IPv4. */
export const unmappedAddress = (ip: string | undefined): string => ip?.replace(/^::ffff:(?=\d+\.)/i, "") ?? "";

/**
 * Returns the network that shares one limit: an IPv4 address, or the /64 of an IPv6 address, because one customer is
 * usually assigned a whole /64 with its 2^64 addresses.
 */
export function networkOf(ip: string): string {
  const plain = unmappedAddress(ip);
  if (!plain.includes(":") || !isIPv6(plain)) return plain;
  const [head = "", tail] = plain.replace(/%.*$/, "").split("::");
  const groups = head === "" ? [] : head.split(":");
  if (tail !== undefined) {
    // A dotted tail counts as two groups but always comes after the first four.
    const tailGroupCount = tail === "" ? 0 : tail.split(":").length + (tail.includes(".") ? 1 : 0);
    while (groups.length + tailGroupCount < 8) groups.push("0");
    if (tail !== "") groups.push(...tail.split(":"));
  }
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}

// IANA's special-purpose registries (RFC 6890): everything that is not globally reachable, including multicast and
// broadcast. 168.63.129.16 is reachable in every Azure network and serves machine configuration; 5f00::/16 is SRv6 (RFC
// 9602). ::/96 contains deprecated IPv4-compatible addresses (RFC 4291 2.5.5.1); fec0::/10 was site-local (RFC 3879).
const LOOPBACK = ["127.0.0.0/8", "::1/128"];
const NOT_PUBLIC = [
  "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
  "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
  "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
]; // prettier-ignore

const createConstantSet = (ranges: readonly string[]) =>
  networkSet(ranges, (range) => new TypeError(`${range} is neither an address nor a range`));

/** 127.0.0.0/8, ::1. */
export const isLoopbackAddress: NetworkSet = createConstantSet(LOOPBACK);
/**
 * Private, shared, link-local and other addresses that are not on the internet. Loopback addresses are covered by
 * `isLoopbackAddress`.
 */
export const isNonPublicAddress: NetworkSet = createConstantSet(NOT_PUBLIC);
