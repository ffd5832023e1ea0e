import {
  ancestors,
  isWithin,
  type RecordData,
  type RecordSet,
  type RecordType,
  typeNumber,
  writeRecordData,
} from "../../protocol/dns/index.ts";
import type { ServedRecord, ServedZone, ServedZones } from "./served.ts";

/** All records of one type at a name. */
export interface NodeSet {
  type: RecordType;
  ttl: number;
  data: RecordData[];
  flatten: boolean;
}

export type Node = ReadonlyMap<RecordType, NodeSet>;

/** The status of a name in its zone. */
type NameLookup =
  | { kind: "here"; node: Node }
  /** The name is a delegation or below one. `node`: the records at the zone cut. */
  | { kind: "delegated"; cut: string; node: Node }
  | { kind: "absent" };

/** The TTL used for "automatic". */
const AUTOMATIC_TTL = 300;
const AUTO = 1;
const EMPTY: Node = new Map();

/** Finds a name per RFC 1034 4.3.2 and RFC 4592. */
export async function findName(zones: ServedZones, zone: ServedZone, name: string): Promise<NameLookup> {
  const above = name === zone.name ? [] : ancestors(name).filter((ancestor) => isWithin(ancestor, zone.name));
  const found = Map.groupBy(
    await zones.records(zone, [name, ...above, ...above.map(wildcardOf)]),
    (record) => record.name,
  );
  // Looks for the topmost zone cut: another server is authoritative below it.
  for (const place of [name, ...above].toReversed()) {
    if (place === zone.name) continue;
    const records = found.get(place);
    if (records?.some(({ type }) => type === "NS")) return { kind: "delegated", cut: place, node: nodeOf(records) };
  }
  const exact = found.get(name);
  if (exact !== undefined) return { kind: "here", node: nodeOf(exact) };
  if (name === zone.name || (await zones.occupied(zone, name))) return { kind: "here", node: EMPTY };
  return synthesised(zones, zone, [name, ...above], found);
}

const wildcardOf = (name: string) => `*.${name}`;

/** RFC 4592 3.3.1: only the wildcard at the closest encloser applies, and only if no name in between exists. */
async function synthesised(
  zones: ServedZones,
  zone: ServedZone,
  path: string[],
  found: Map<string, ServedRecord[]>,
): Promise<NameLookup> {
  const at = path.findIndex((ancestor, index) => index > 0 && found.has(wildcardOf(ancestor)));
  if (at === -1) return { kind: "absent" };
  // The name itself does not exist; names above it, up to the wildcard's parent, may have other names below them.
  const nextBelow = path[at - 1]!;
  if (at > 1 && (await zones.occupied(zone, nextBelow))) return { kind: "absent" };
  return { kind: "here", node: nodeOf(found.get(wildcardOf(path[at]!))!) };
}

export function nodeOf(records: readonly ServedRecord[]): Node {
  const node = new Map<RecordType, NodeSet>();
  for (const { type, ttl, data, flatten } of records) {
    const seconds = ttl === AUTO ? AUTOMATIC_TTL : ttl;
    const set = node.get(type);
    if (set === undefined) {
      node.set(type, { type, ttl: seconds, data: [data], flatten });
    } else {
      set.data.push(data);
      // RFC 2181 5.2: all records of a set share one TTL.
      set.ttl = Math.min(set.ttl, seconds);
    }
  }
  return node;
}

/**
 * A record set as part of a message, with owner `name`: a wildcard's set is returned with the queried name as its
 * owner.
 */
export const recordSet = (name: string, { type, ttl, data }: NodeSet): RecordSet => ({
  name,
  type: typeNumber(type),
  ttl,
  data: data.map((one) => (out) => writeRecordData(type, one, out)),
});
