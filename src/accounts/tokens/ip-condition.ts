import { isIP } from "node:net";
import { networkSet, parseNetwork } from "../../kernel/networks.ts";
import { Fault } from "../../kernel/index.ts";
import { accountErrors } from "../errors.ts";
import type { IpCondition } from "./types.ts";

/** Maximum number of entries in `in` and `not_in`. */
const MAX_CIDR_BLOCKS = 200;

/** Throws badToken for entries that are neither an address nor a CIDR block. Empty lists impose no condition: null. */
export function checkIpCondition(condition: IpCondition | null | undefined): IpCondition | null {
  const cleanedCondition: IpCondition = {};
  for (const [key, field] of [
    ["in", "condition.request_ip.in"],
    ["notIn", "condition.request_ip.not_in"],
  ] as const) {
    const blocks = condition?.[key];
    if (blocks === undefined || blocks.length === 0) continue;
    if (blocks.length > MAX_CIDR_BLOCKS)
      throw accountErrors.badToken({ field, reason: `at most ${MAX_CIDR_BLOCKS} entries` });
    for (const [index, block] of blocks.entries()) {
      if (parseNetwork(block) === undefined)
        throw accountErrors.badToken({
          field: `${field}.${index}`,
          reason: `${JSON.stringify(block)} is neither an IP address nor a CIDR block`,
        });
    }
    cleanedCondition[key] = [...blocks];
  }
  return cleanedCondition.in === undefined && cleanedCondition.notIn === undefined ? null : cleanedCondition;
}

/** True if requests from the address may use the token. False for an unknown address. */
export function ipMatcher(condition: IpCondition | null): (ip: string | undefined) => boolean {
  if (condition === null) return () => true;
  const [isIncluded, isExcluded] = [condition.in, condition.notIn].map((blocks) => blocks && setOf(blocks));
  return (ip) => isIP(ip ?? "") !== 0 && (isIncluded === undefined || isIncluded(ip)) && isExcluded?.(ip) !== true;
}

// Stored conditions have already been validated.
const setOf = (blocks: readonly string[]) =>
  networkSet(blocks, (block) => new Fault(`cannot parse the stored condition ${block}`));
