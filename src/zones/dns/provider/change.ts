import { presentData, type RecordData } from "../../../protocol/dns/index.ts";
import { digestOf } from "../../records/check.ts";
import { draftOf } from "../../records/change.ts";
import { contentOf, dataOf, hasPriority } from "../../records/content.ts";
import type { RecordDraft, RecordZone } from "../../records/types.ts";
import { dnsErrors } from "./errors.ts";
import type { DnsChange, ExclusiveSet, ProviderRecord, RecordSetName } from "./port.ts";

/** The TTL used for "automatic" where a number is required. */
const AUTOMATIC_TTL = 300;
export const secondsOf = ({ ttl }: { ttl: number }): number => (ttl === 1 ? AUTOMATIC_TTL : ttl);

export interface CheckedChange {
  add: RecordDraft[];
  /** Disjoint from the added records. */
  remove: RecordDraft[];
}

/** Validates a change. Throws zoneErrors.dnsInvalid. */
export function checkedChange(zone: RecordZone, { add, remove }: DnsChange): CheckedChange {
  const added = new Map(add.map((request) => draftOf(request, zone)).map((draft) => [keyOf(draft), draft]));
  const removed = remove.map((request) => draftOf(request, zone)).filter((draft) => !added.has(keyOf(draft)));
  return { add: [...added.values()], remove: removed };
}

/** Equal for records with the same meaning, regardless of their TTL. */
export const keyOf = (record: Pick<ProviderRecord, "name" | "type" | "content" | "priority">): string =>
  `${record.name} ${record.type} ${digestOf(record)}`;

export const setKey = ({ name, type }: RecordSetName): string => `${name} ${type}`;

export const recordOf = (name: string, type: RecordDraft["type"], data: RecordData, ttl: number): ProviderRecord => ({
  name,
  type,
  content: contentOf(type, data),
  priority: hasPriority(type) ? (data.priority as number) : null,
  ttl,
});

/** Throws foreignRecords if an exclusive set contains records that are not ours. */
export function refuseForeign(
  sets: readonly ExclusiveSet[],
  there: readonly ProviderRecord[],
  { add, remove }: CheckedChange,
): void {
  const ours = new Set([...add, ...remove].map(keyOf));
  for (const set of sets) {
    const foreign = there.filter((record) => counts(set, record) && !ours.has(keyOf(record)));
    if (foreign.length > 0)
      throw dnsErrors.foreignRecords({
        name: set.name,
        type: set.type,
        found: foreign.map(shown).join(", "),
        records: foreign,
      });
  }
}

const counts = ({ name, type, text }: ExclusiveSet, record: ProviderRecord): boolean =>
  record.name === name && record.type === type && (text === undefined || textOf(record).toLowerCase().startsWith(text));

/** The text of a TXT record, with its strings concatenated. */
export const textOf = (record: ProviderRecord): string =>
  record.type === "TXT" ? (dataOf(record).strings as string[]).join("") : record.content;

/** The data in master file format. */
export const shown = (record: ProviderRecord): string => presentData(record.type, dataOf(record));
