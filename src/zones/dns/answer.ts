import {
  emptyReply,
  isWithin,
  RCODE,
  type RecordSet,
  type DnsReply,
  SOA_TIMES,
  typeNumber,
} from "../../protocol/dns/index.ts";
import { additionalFor, glueFor } from "./additional.ts";
import type { Flatten } from "./flatten.ts";
import { findName, type Node, type NodeSet, recordSet } from "./nodes.ts";
import type { ServedZone, ServedZones } from "./served.ts";
import { anySet, apexNode, soaSet } from "./synthesised.ts";

interface AnswerDeps {
  zones: ServedZones;
  flatten: Flatten;
}

const ANY = 255;
const DS = typeNumber("DS");
const CNAME = typeNumber("CNAME");
const SOA = typeNumber("SOA");
const ADDRESS_TYPES = new Map([
  [typeNumber("A"), "A"],
  [typeNumber("AAAA"), "AAAA"],
] as const);
/** Maximum length of a CNAME chain within the zone. Also ends loops. */
const MAX_CHAIN_LENGTH = 10;

/** Resolves with the answer to a query of class IN (RFC 1034 4.3.2). */
export async function answerQuestion(deps: AnswerDeps, name: string, type: number): Promise<DnsReply> {
  const zone = await zoneFor(deps.zones, name, type);
  if (zone === undefined) return emptyReply(RCODE.refused);
  const chain: RecordSet[] = [];
  const seenNames = new Set<string>();
  for (let current = name; ;) {
    seenNames.add(current);
    const step = await answerAt(deps, zone, current, type);
    if (!("alias" in step))
      return { ...step, authoritative: step.authoritative || chain.length > 0, answer: [...chain, ...step.answer] };
    chain.push(step.alias);
    const isOwnTarget = isWithin(step.target, zone.name) && (await deps.zones.find(step.target))?.id === zone.id;
    if (!isOwnTarget || seenNames.has(step.target) || chain.length >= MAX_CHAIN_LENGTH)
      return { ...emptyReply(RCODE.noError), authoritative: true, answer: chain };
    current = step.target;
  }
}

/** DS records belong to the parent zone (RFC 4035 3.1.4.1), if this server has it. */
async function zoneFor(zones: ServedZones, name: string, type: number): Promise<ServedZone | undefined> {
  const zone = await zones.find(name);
  if (zone === undefined || type !== DS || name !== zone.name || !name.includes(".")) return zone;
  return (await zones.find(name.slice(name.indexOf(".") + 1))) ?? zone;
}

type Step = DnsReply | { alias: RecordSet; target: string };

async function answerAt(deps: AnswerDeps, zone: ServedZone, name: string, type: number): Promise<Step> {
  const { zones, flatten } = deps;
  const place = await findName(zones, zone, name);
  if (place.kind === "absent") return negativeReply(zone, RCODE.nxDomain);
  if (place.kind === "delegated" && !(type === DS && place.cut === name))
    return referral(zones, zone, place.cut, place.node.get("NS")!);
  const isApex = name === zone.name;
  const node = isApex ? apexNode(zone, place.node) : place.node;
  if (isApex && type === SOA) return positiveReply([soaSet(zone)]);
  if (type === ANY) return isApex || node.size > 0 ? positiveReply([anySet(name)]) : negativeReply(zone, RCODE.noError);
  const alias = node.get("CNAME");
  // A CNAME cannot coexist with SOA and NS (RFC 1034 3.6.2), so clients get the addresses of its target.
  if (alias !== undefined && (isApex || alias.flatten)) {
    const address = ADDRESS_TYPES.get(type);
    if (address !== undefined) return flatten(name, alias, address, () => negativeReply(zone, RCODE.noError));
    if (type === CNAME) return negativeReply(zone, RCODE.noError);
  } else if (alias !== undefined && type !== CNAME) {
    return { alias: recordSet(name, alias), target: alias.data[0]!.target as string };
  }
  const set = setOf(node, type);
  return set === undefined
    ? negativeReply(zone, RCODE.noError)
    : positiveReply([recordSet(name, set)], await additionalFor(zones, zone, set));
}

function setOf(node: Node, type: number): NodeSet | undefined {
  for (const set of node.values()) if (typeNumber(set.type) === type) return set;
  return undefined;
}

const positiveReply = (answer: RecordSet[], additional: RecordSet[] = []): DnsReply => ({
  rcode: RCODE.noError,
  authoritative: true,
  answer,
  authority: [],
  additional,
});

/** RFC 2308 3: the negative TTL is the smaller of the SOA's TTL and its MINIMUM field. */
const negativeReply = (zone: ServedZone, rcode: number): DnsReply => ({
  rcode,
  authoritative: true,
  answer: [],
  authority: [soaSet(zone, Math.min(SOA_TIMES.ttl, SOA_TIMES.minimum))],
  additional: [],
});

async function referral(zones: ServedZones, zone: ServedZone, cut: string, servers: NodeSet): Promise<DnsReply> {
  return {
    ...emptyReply(RCODE.noError),
    authority: [recordSet(cut, servers)],
    additional: await glueFor(zones, zone, servers),
    glue: true,
  };
}
