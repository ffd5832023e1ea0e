import { BlockList, isIP, isIPv6 } from "node:net";
import { mailErrors } from "../errors.ts";

/** IPv4 in IPv6 clothing (RFC 4291 2.5.5.2), as a socket of both families reports it, without it. */
export const plainAddress = (ip: string | undefined): string => ip?.replace(/^::ffff:(?=\d+\.)/i, "") ?? "";

/**
 * Who shares a limit: an IPv4 address, or the /64 of an IPv6 address, which is what one customer gets; anybody in it has 2^64 addresses to
 * come from.
 */
export function networkOf(ip: string): string {
  const plain = plainAddress(ip);
  if (!isIPv6(plain)) return plain;
  const [head = "", tail] = plain.replace(/%.*$/, "").split("::");
  const groups = head === "" ? [] : head.split(":");
  if (tail !== undefined) {
    // A tail in dotted form counts for two groups, but stands behind the first four whatever it is.
    const behind = tail === "" ? 0 : tail.split(":").length + (tail.includes(".") ? 1 : 0);
    while (groups.length + behind < 8) groups.push("0");
    if (tail !== "") groups.push(...tail.split(":"));
  }
  return `${groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}

/** Addresses and CIDR ranges. Throws UserError for a text that is neither; `setting` is where it stands. */
export function addressSet(ranges: readonly string[], setting: string): (ip: string | undefined) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [, address = "", digits] = /^([^/%\s]+)(?:\/(\d{1,3}))?$/.exec(range) ?? [];
    const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)]!;
    const prefix = digits === undefined ? longest : Number(digits);
    if (longest === -1 || prefix > longest) throw mailErrors.rangeInvalid({ range, setting });
    list.addSubnet(address, prefix, longest === 32 ? "ipv4" : "ipv6");
  }
  return (ip) => {
    const plain = plainAddress(ip);
    return ranges.length > 0 && isIP(plain) !== 0 && list.check(plain, isIPv6(plain) ? "ipv6" : "ipv4");
  };
}
