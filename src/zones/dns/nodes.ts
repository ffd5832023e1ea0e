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
const AUTO_TTL = 1;
const EMPTY: Node = new Map();

/** Finds a name per RFC 1034 4.3.2 and RFC 4592. */
export async function findName(zones: ServedZones, zone: ServedZone, name: string): Promise<NameLookup> {
  const ancestorNames = name === zone.name ? [] : ancestors(name).filter((ancestor) => isWithin(ancestor, zone.name));
  const recordsByName = Map.groupBy(
    await zones.records(zone, [name, ...ancestorNames, ...ancestorNames.map(wildcardOf)]),
    (record) => record.name,
  );
  // Looks for the topmost zone cut: another server is authoritative below it.
  for (const place of [name, ...ancestorNames].toReversed()) {
    if (place === zone.name) continue;
    const records = recordsByName.get(place);
    if (records?.some(({ type }) => type === "NS")) return { kind: "delegated", cut: place, node: nodeOf(records) };
  }
  const exactRecords = recordsByName.get(name);
  if (exactRecords !== undefined) return { kind: "here", node: nodeOf(exactRecords) };
  if (name === zone.name || (await zones.occupied(zone, name))) return { kind: "here", node: EMPTY };
  return synthesiseNode(zones, zone, [name, ...ancestorNames], recordsByName);
}

const wildcardOf = (name: string) => `*.${name}`;

/** RFC 4592 3.3.1: only the wildcard at the closest encloser applies, and only if no name in between exists. */
async function synthesiseNode(
  zones: ServedZones,
  zone: ServedZone,
  path: string[],
  recordsByName: Map<string, ServedRecord[]>,
): Promise<NameLookup> {
  const wildcardIndex = path.findIndex((ancestor, index) => index > 0 && recordsByName.has(wildcardOf(ancestor)));
  if (wildcardIndex === -1) return { kind: "absent" };
  // The name itself does not exist; names above it, up to the wildcard's parent, may have other names below them.
  const nextBelow = path[wildcardIndex - 1]!;
  if (wildcardIndex > 1 && (await zones.occupied(zone, nextBelow))) return { kind: "absent" };
  return { kind: "here", node: nodeOf(recordsByName.get(wildcardOf(path[wildcardIndex]!))!) };
}

export function nodeOf(records: readonly ServedRecord[]): Node {
  const node = new Map<RecordType, NodeSet>();
  for (const { type, ttl, data, flatten } of records) {
    const seconds = ttl === AUTO_TTL ? AUTOMATIC_TTL : ttl;
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
 * Returns a record set as part of a message, with owner `name`: a wildcard's set is returned with the queried name as
 * its owner.
 */
export const recordSet = (name: string, { type, ttl, data }: NodeSet): RecordSet => ({
  name,
  type: typeNumber(type),
  ttl,
  data: data.map((recordData) => (out) => writeRecordData(type, recordData, out)),
});
