import type { DnsRecord } from "../../records/types.ts";
import { kindOf } from "../verify/match.ts";
import { keyOf } from "../provider/change.ts";
import type { ExclusiveSet, ProviderRecord } from "../provider/port.ts";
import type { Pushed } from "./push-table.ts";

/** One step of a push: all of it is done or nothing. */
export interface PushStep {
  owner: string;
  add: ProviderRecord[];
  remove: ProviderRecord[];
  /** Ours in the sets of `mustBeAbsent` that are there already: added once more, or they would seem to be somebody else's. */
  kept: ProviderRecord[];
  mustBeAbsent: ExclusiveSet[];
}

/** Whose records they are that people made. */
export const PEOPLE = "zone";
/** Records of one step: a dynamic update is one message. */
const MAX_STEP = 100;

/**
 * What is to be done at the other server so that what we have put there becomes what the zone holds: a step for each part of the platform,
 * and people's own records in steps of some hundred, those of one name together.
 */
export function planPush(
  wanted: readonly Pick<DnsRecord, "managedBy" | keyof ProviderRecord>[],
  there: readonly Pushed[],
): PushStep[] {
  const want = new Map(
    wanted.map((record) => [keyOf(record), { owner: record.managedBy ?? PEOPLE, record: bare(record) }]),
  );
  const done = new Set(there.filter(({ applied }) => applied).map(keyOf));
  const add = [...want.values()].filter(({ record }) => !done.has(keyOf(record)));
  const remove = there
    .filter((record) => !want.has(keyOf(record)))
    .map((record) => ({ owner: record.owner, record: bare(record) }));
  const byOwner = Map.groupBy(
    [
      ...add.map((one) => ({ ...one, what: "add" as const })),
      ...remove.map((one) => ({ ...one, what: "remove" as const })),
    ],
    ({ owner }) => owner,
  );
  const owners = [...byOwner.keys()].sort((a, b) => Number(a === PEOPLE) - Number(b === PEOPLE) || (a < b ? -1 : 1));
  return owners.flatMap((owner) => {
    const changes = byOwner.get(owner)!;
    const step = (those: typeof changes): PushStep => ({
      owner,
      add: those.flatMap(({ what, record }) => (what === "add" ? [record] : [])),
      remove: those.flatMap(({ what, record }) => (what === "remove" ? [record] : [])),
      kept: [],
      mustBeAbsent: [],
    });
    if (owner === PEOPLE) return chunks(changes).map(step);
    const one = step(changes);
    const sets = exclusiveSets(one.add);
    const kept = [...want.values()]
      .map(({ record }) => record)
      .filter(
        (record) => done.has(keyOf(record)) && sets.some((set) => set.name === record.name && set.type === record.type),
      );
    return [{ ...one, kept, mustBeAbsent: sets }];
  });
}

/** Where a record of ours beside somebody else's would spoil both: mail would go either way, and two SPF or DMARC records are none. */
function exclusiveSets(added: readonly ProviderRecord[]): ExclusiveSet[] {
  const sets = added.flatMap((record): ExclusiveSet[] => {
    const kind = kindOf(record);
    if (kind === "mx") return [{ name: record.name, type: "MX" }];
    return kind === "spf" || kind === "dmarc"
      ? [{ name: record.name, type: "TXT", text: kind === "spf" ? "v=spf1" : "v=dmarc1" }]
      : [];
  });
  return [...new Map(sets.map((set) => [JSON.stringify(set), set])).values()];
}

function chunks<Change extends { record: ProviderRecord }>(changes: readonly Change[]): Change[][] {
  const found: Change[][] = [];
  for (const group of Map.groupBy(changes, ({ record }) => record.name).values()) {
    const last = found.at(-1);
    if (last !== undefined && last.length + group.length <= MAX_STEP) last.push(...group);
    else found.push(group);
  }
  return found;
}

const bare = ({ name, type, content, priority, ttl }: ProviderRecord): ProviderRecord => ({
  name,
  type,
  content,
  priority,
  ttl,
});
