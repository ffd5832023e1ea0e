import { isIP, parseNetwork, unmappedAddress } from "../../kernel/networks.ts";

const ADDRESS_BITS = 128n;

/**
 * Returns an address as 32 hex digits that sort by value; IPv4 is mapped to IPv6 (RFC 4291 2.5.5.2). A range of
 * addresses is then a range of keys. Empty for anything else.
 */
export function ipKey(ip: string | undefined): string {
  const value = valueOf(unmappedAddress(ip).replace(/%.*$/, ""));
  return value === undefined ? "" : keyOf(value);
}

/** Returns the first and the last key of an address or a range: "10.0.0.0/8". Undefined for anything else. */
export function ipKeyRange(range: string): { first: string; last: string } | undefined {
  const network = parseNetwork(range);
  const value = network && valueOf(network.address);
  if (network === undefined || value === undefined) return undefined;
  const prefix = BigInt(network.prefix + (network.family === "ipv4" ? 96 : 0));
  const hosts = (1n << (ADDRESS_BITS - prefix)) - 1n;
  return { first: keyOf(value & ~hosts), last: keyOf(value | hosts) };
}

const keyOf = (value: bigint): string => value.toString(16).padStart(32, "0");

function valueOf(address: string): bigint | undefined {
  const version = isIP(address);
  if (version === 0) return undefined;
  // The URL parser normalizes every notation of IPv6, dotted tails included, to hexadecimal groups.
  const text = new URL(`http://[${version === 4 ? `::ffff:${address}` : address}]/`).hostname.slice(1, -1);
  const [head = "", tail] = text.split("::");
  const groups = head === "" ? [] : head.split(":");
  const lastGroups = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: 8 - groups.length - lastGroups.length }, () => "0");
  return BigInt(`0x${[...groups, ...zeros, ...lastGroups].map((group) => group.padStart(4, "0")).join("")}`);
}
