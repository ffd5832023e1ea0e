import { readFileSync } from "node:fs";

/** Capability numbers, see capabilities(7). */
const CAPABILITIES = { chown: 0, dacOverride: 1, kill: 5, setgid: 6, setuid: 7, sysAdmin: 21 } as const;

/** True if this process has the capabilities. Outside Linux: true if it is root. */
function holdsCapabilities(...names: (keyof typeof CAPABILITIES)[]): boolean {
  const effectiveCapabilities = readEffective();
  return effectiveCapabilities === undefined
    ? process.getuid?.() === 0
    : names.every((name) => (effectiveCapabilities >> BigInt(CAPABILITIES[name])) & 1n);
}

/** True if child processes can run as other users: as root, or with the necessary capabilities. */
export const mayChangeUser = (): boolean =>
  process.getuid?.() === 0 ||
  (process.platform === "linux" && holdsCapabilities("setuid", "setgid", "chown", "dacOverride", "kill"));

function readEffective(): bigint | undefined {
  try {
    return BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "latin1"))![1]}`);
  } catch {
    return undefined;
  }
}

/**
 * True if all user ids of the range are mapped in this user namespace: a container may have only 65,536
 * (user_namespaces(7)).
 */
export function isMapped({ first, last }: IdRange, map = readUidMap()): boolean {
  // The rows are unordered; the whole range must be within one row.
  return map.split("\n").some((line) => {
    const [innerStart, , count] = line.trim().split(/\s+/).map(Number);
    return innerStart !== undefined && count !== undefined && first >= innerStart && last < innerStart + count;
  });
}

function readUidMap(): string {
  try {
    return readFileSync("/proc/self/uid_map", "latin1");
  } catch {
    return "0 0 4294967295";
  }
}

export interface IdRange {
  first: number;
  last: number;
}

/** Maximum id: chown(2) interprets 2^32-1 as "unchanged", and an unmapped id may appear as 2^32-2. */
const MAX_ID = 0xfffffffd;

/** Parses `first-last`; undefined if it is not a range of unprivileged ids. */
export function parseIdRange(text: string): IdRange | undefined {
  const [, first, last] = /^(\d{1,10})-(\d{1,10})$/.exec(text)?.map(Number) ?? [];
  return first === undefined || last === undefined || first < 1 || first > last || last > MAX_ID
    ? undefined
    : { first, last };
}
