import type { Records } from "../../records/records.ts";
import type { RecordZone } from "../../records/types.ts";
import { recordLine } from "../../records/zone-file.ts";
import { checkedChange, rejectForeign } from "./change.ts";
import { createEmbeddedProvider } from "./embedded.ts";
import type { DnsProvider, ProviderRecord, RecordSetName } from "./port.ts";

interface ManualProvider extends DnsProvider {
  /** Resolves with the records that the user must add for this owner. */
  expectedRecords(zone: RecordZone, owner: string): Promise<ProviderRecord[]>;
  /** Resolves with the same records as lines of a BIND zone file. */
  zoneFile(zone: RecordZone, owner: string): Promise<string>;
}

interface ManualOptions {
  records: Pick<Records, "managed">;
  /** Returns the records in public DNS. Without it, only stored records are known. */
  lookUp?: (sets: readonly RecordSetName[], signal?: AbortSignal) => Promise<ProviderRecord[]>;
}

/**
 * For DNS that this program cannot change: stores the expected records, displays them, and lets the verifier check
 * them.
 */
export function createManualProvider({ records, lookUp }: ManualOptions): ManualProvider {
  const embeddedProvider = createEmbeddedProvider({ records });
  return {
    kind: "manual",
    async apply(zone, change, signal) {
      // Only the user can remove foreign records; report them before accepting the change.
      if (lookUp !== undefined)
        rejectForeign(change.mustBeAbsent, await lookUp(change.mustBeAbsent, signal), checkedChange(zone, change));
      await embeddedProvider.apply(zone, change, signal);
    },
    current: (zone, sets, signal) =>
      lookUp === undefined ? embeddedProvider.current(zone, sets, signal) : lookUp(sets, signal),
    expectedRecords: async (zone, owner) =>
      (await records.managed.list(zone.id, owner)).map(({ name, type, content, priority, ttl }) => ({
        name,
        type,
        content,
        priority,
        ttl,
      })),
    zoneFile: async (zone, owner) =>
      (await records.managed.list(zone.id, owner))
        .map((record) => recordLine({ ...record, ttl: record.ttl === 1 ? 300 : record.ttl, comment: null, tags: [] }))
        .join(""),
  };
}
