import { isWithin, type RecordSet } from "../../protocol/dns/index.ts";
import { findName, nodeOf, type Node, type NodeSet, recordSet } from "./nodes.ts";
import type { ServedZone, ServedZones } from "./served.ts";

/** Types for which resolvers query the target's addresses next (RFC 1035 3.3, RFC 2782, RFC 9460 4.1). */
const POINTING_TYPES = new Set(["MX", "NS", "SRV", "HTTPS", "SVCB"]);
/** Maximum number of targets whose addresses are included. */
const MAX_TARGETS = 16;

const targetsWithin = ({ data }: NodeSet, zone: string): string[] =>
  [...new Set(data.map(({ target }) => target as string))]
    .filter((target) => target !== "." && isWithin(target, zone))
    .slice(0, MAX_TARGETS);

const addressSetsOf = (name: string, node: Node): RecordSet[] =>
  (["A", "AAAA"] as const).flatMap((type) => {
    const set = node.get(type);
    return set === undefined ? [] : [recordSet(name, set)];
  });

/** Addresses of the hosts to which a record set points, if this zone is authoritative for them. */
export async function additionalFor(zones: ServedZones, zone: ServedZone, set: NodeSet): Promise<RecordSet[]> {
  if (!POINTING_TYPES.has(set.type)) return [];
  const additionalSets: RecordSet[] = [];
  for (const target of targetsWithin(set, zone.name)) {
    const place = await findName(zones, zone, target);
    if (place.kind === "here") additionalSets.push(...addressSetsOf(target, place.node));
  }
  return additionalSets;
}

/** Addresses of a delegation's name servers, including servers named below the cut (RFC 9471). */
export async function glueFor(zones: ServedZones, zone: ServedZone, servers: NodeSet): Promise<RecordSet[]> {
  const targets = targetsWithin(servers, zone.name);
  if (targets.length === 0) return [];
  const records = Map.groupBy(await zones.records(zone, targets), ({ name }) => name);
  return targets.flatMap((target) => addressSetsOf(target, nodeOf(records.get(target) ?? [])));
}
