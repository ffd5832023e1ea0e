import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";
import { accountErrors } from "../errors.ts";
import type { IpCondition } from "./types.ts";

/** Entries of `in` and of `not_in`. */
const MAX_BLOCKS = 200;

/** Throws badToken for what is no address and no CIDR block. Empty lists say nothing: null. */
export function checkIpCondition(condition: IpCondition | null | undefined): IpCondition | null {
  const kept: IpCondition = {};
  for (const [key, field] of [["in", "condition.request_ip.in"], ["notIn", "condition.request_ip.not_in"]] as const) {
    const blocks = condition?.[key];
    if (blocks === undefined || blocks.length === 0) continue;
    if (blocks.length > MAX_BLOCKS) throw accountErrors.badToken({ field, reason: `at most ${MAX_BLOCKS} entries` });
    for (const [index, block] of blocks.entries()) {
      if (parseBlock(block) === undefined) throw accountErrors.badToken({ field: `${field}.${index}`, reason: `${JSON.stringify(block)} is neither an IP address nor a CIDR block` });
    }
    kept[key] = [...blocks];
  }
  return kept.in === undefined && kept.notIn === undefined ? null : kept;
}

/** Whether requests from an address may use the token. An address nobody knows may not. */
export function ipMatcher(condition: IpCondition | null): (ip: string | undefined) => boolean {
  if (condition === null) return () => true;
  const within = condition.in && blockList(condition.in);
  const without = condition.notIn && blockList(condition.notIn);
  return (ip) => {
    const family = ip !== undefined && isIPv6(ip) ? "ipv6" : "ipv4";
    if (ip === undefined || isIP(ip) === 0) return false;
    return (within === undefined || within.check(ip, family)) && without?.check(ip, family) !== true;
  };
}

// A BlockList finds IPv4 rules for IPv4-mapped IPv6 addresses too, which is what a socket of both families reports.
function blockList(blocks: string[]): BlockList {
  const list = new BlockList();
  for (const block of blocks) {
    const parsed = parseBlock(block);
    if (parsed !== undefined) list.addSubnet(parsed.address, parsed.prefix, parsed.family);
  }
  return list;
}

function parseBlock(block: string): { address: string; prefix: number; family: "ipv4" | "ipv6" } | undefined {
  const [, address, digits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(block) ?? [];
  if (address === undefined || isIP(address) === 0) return undefined;
  const longest = isIPv4(address) ? 32 : 128;
  const prefix = digits === undefined ? longest : Number(digits);
  return prefix > longest ? undefined : { address, prefix, family: longest === 32 ? "ipv4" : "ipv6" };
}
