import { presentData, type RecordData } from "../../../protocol/dns/index.ts";
import { recordDigest } from "../../records/check.ts";
import { recordDraft } from "../../records/change.ts";
import { contentOf, dataOf, hasPriority } from "../../records/content.ts";
import type { RecordDraft, RecordZone } from "../../records/types.ts";
import { dnsErrors } from "./errors.ts";
import type { DnsChange, ExclusiveSet, ProviderRecord, RecordSetName } from "./port.ts";

/** The TTL used for "automatic" where a number is required. */
const AUTOMATIC_TTL = 300;
export const ttlSeconds = ({ ttl }: { ttl: number }): number => (ttl === 1 ? AUTOMATIC_TTL : ttl);

export interface CheckedChange {
  add: RecordDraft[];
  /** Disjoint from the added records. */
  remove: RecordDraft[];
}

/** Validates a change. Throws zoneErrors.dnsInvalid. */
export function checkedChange(zone: RecordZone, { add, remove }: DnsChange): CheckedChange {
  const addedDrafts = new Map(
    add.map((request) => recordDraft(request, zone)).map((draft) => [recordKey(draft), draft]),
  );
  const removedRecords = remove
    .map((request) => recordDraft(request, zone))
    .filter((draft) => !addedDrafts.has(recordKey(draft)));
  return { add: [...addedDrafts.values()], remove: removedRecords };
}

/** Returns equal values for records with the same meaning, regardless of their TTL. */
export const recordKey = (record: Pick<ProviderRecord, "name" | "type" | "content" | "priority">): string =>
  `${record.name} ${record.type} ${recordDigest(record)}`;

export const setKey = ({ name, type }: RecordSetName): string => `${name} ${type}`;

export const providerRecord = (
  name: string,
  type: RecordDraft["type"],
  data: RecordData,
  ttl: number,
): ProviderRecord => ({
  name,
  type,
  content: contentOf(type, data),
  priority: hasPriority(type) ? (data.priority as number) : null,
  ttl,
});

/** Throws foreignRecords if an exclusive set contains records that are not ours. */
export function rejectForeign(
  sets: readonly ExclusiveSet[],
  existingRecords: readonly ProviderRecord[],
  { add, remove }: CheckedChange,
): void {
  const ownKeys = new Set([...add, ...remove].map(recordKey));
  for (const set of sets) {
    const foreign = existingRecords.filter((record) => isInSet(set, record) && !ownKeys.has(recordKey(record)));
    if (foreign.length > 0)
      throw dnsErrors.foreignRecords({
        name: set.name,
        type: set.type,
        found: foreign.map(presentedData).join(", "),
        records: foreign,
      });
  }
}

const isInSet = ({ name, type, text }: ExclusiveSet, record: ProviderRecord): boolean =>
  record.name === name &&
  record.type === type &&
  (text === undefined || concatenatedText(record).toLowerCase().startsWith(text));

/** Returns the text of a TXT record, with its strings concatenated. */
export const concatenatedText = (record: ProviderRecord): string =>
  record.type === "TXT" ? (dataOf(record).strings as string[]).join("") : record.content;

/** Returns the data in master file format. */
export const presentedData = (record: ProviderRecord): string => presentData(record.type, dataOf(record));
