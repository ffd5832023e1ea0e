import type { DnsRecord } from "../../records/types.ts";
import { kindOf } from "../verify/match.ts";
import { recordKey } from "../provider/change.ts";
import type { ExclusiveSet, ProviderRecord } from "../provider/port.ts";
import type { PushedRecord } from "./push-table.ts";

/** One atomic step of a push. */
export interface PushStep {
  owner: string;
  add: ProviderRecord[];
  remove: ProviderRecord[];
  /** Our own existing records in the sets of `mustBeAbsent`: adding them again identifies them as ours. */
  existing: ProviderRecord[];
  mustBeAbsent: ExclusiveSet[];
}

/** Owner of the records that users created. */
export const USERS = "zone";
/** Maximum number of records per step, because a dynamic update is a single message. */
const MAX_STEP_RECORDS = 100;

/**
 * Returns the steps that convert the records we pushed to the other server into the records of the zone: one step per
 * component, and users' records in steps of up to a hundred, without splitting a name.
 */
export function planPush(
  wanted: readonly Pick<DnsRecord, "managedBy" | keyof ProviderRecord>[],
  pushedRecords: readonly PushedRecord[],
): PushStep[] {
  const wantedByKey = new Map(
    wanted.map((record) => [recordKey(record), { owner: record.managedBy ?? USERS, record: toProviderRecord(record) }]),
  );
  const appliedKeys = new Set(pushedRecords.filter(({ applied }) => applied).map(recordKey));
  const add = [...wantedByKey.values()].filter(({ record }) => !appliedKeys.has(recordKey(record)));
  const remove = pushedRecords
    .filter((record) => !wantedByKey.has(recordKey(record)))
    .map((record) => ({ owner: record.owner, record: toProviderRecord(record) }));
  const byOwner = Map.groupBy(
    [
      ...add.map((one) => ({ ...one, what: "add" as const })),
      ...remove.map((one) => ({ ...one, what: "remove" as const })),
    ],
    ({ owner }) => owner,
  );
  const owners = [...byOwner.keys()].sort((a, b) => Number(a === USERS) - Number(b === USERS) || (a < b ? -1 : 1));
  return owners.flatMap((owner) => {
    const changes = byOwner.get(owner)!;
    const stepOf = (ownerChanges: typeof changes): PushStep => ({
      owner,
      add: ownerChanges.flatMap(({ what, record }) => (what === "add" ? [record] : [])),
      remove: ownerChanges.flatMap(({ what, record }) => (what === "remove" ? [record] : [])),
      existing: [],
      mustBeAbsent: [],
    });
    if (owner === USERS) return chunks(changes).map(stepOf);
    const one = stepOf(changes);
    const sets = exclusiveSets(one.add);
    const existing = [...wantedByKey.values()]
      .map(({ record }) => record)
      .filter(
        (record) =>
          appliedKeys.has(recordKey(record)) &&
          sets.some((set) => set.name === record.name && set.type === record.type),
      );
    return [{ ...one, existing, mustBeAbsent: sets }];
  });
}

/**
 * Sets in which a foreign record would break ours: a second MX would divert part of the mail, and two SPF or DMARC
 * records are invalid.
 */
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
  const groupedChunks: Change[][] = [];
  for (const group of Map.groupBy(changes, ({ record }) => record.name).values()) {
    const last = groupedChunks.at(-1);
    if (last !== undefined && last.length + group.length <= MAX_STEP_RECORDS) last.push(...group);
    else groupedChunks.push(group);
  }
  return groupedChunks;
}

const toProviderRecord = ({ name, type, content, priority, ttl }: ProviderRecord): ProviderRecord => ({
  name,
  type,
  content,
  priority,
  ttl,
});
