import type { Records } from "../../records/records.ts";
import type { RecordZone } from "../../records/types.ts";
import { recordLine } from "../../records/zone-file.ts";
import { checkedChange, refuseForeign } from "./change.ts";
import { createEmbeddedProvider } from "./embedded.ts";
import type { DnsProvider, ProviderRecord, RecordSetName } from "./port.ts";

export interface ManualProvider extends DnsProvider {
  /** What the user should have in their DNS for this owner. */
  wanted(zone: RecordZone, owner: string): Promise<ProviderRecord[]>;
  /** The same as lines of a BIND zone file. */
  zoneFile(zone: RecordZone, owner: string): Promise<string>;
}

export interface ManualOptions {
  records: Pick<Records, "managed">;
  /** What the world sees. Without it only what is kept here is known. */
  lookUp?: (sets: readonly RecordSetName[], signal?: AbortSignal) => Promise<ProviderRecord[]>;
}

/** The user keeps the DNS somewhere that we cannot reach: what should be there is kept here, shown, and looked for by the verifier. */
export function createManualProvider({ records, lookUp }: ManualOptions): ManualProvider {
  const kept = createEmbeddedProvider({ records });
  return {
    kind: "manual",
    async apply(zone, change, signal) {
      // What is out there is the user's to change, but that it must go is told before anything is asked for.
      if (lookUp !== undefined)
        refuseForeign(change.mustBeAbsent, await lookUp(change.mustBeAbsent, signal), checkedChange(zone, change));
      await kept.apply(zone, change, signal);
    },
    current: (zone, sets, signal) => (lookUp === undefined ? kept.current(zone, sets, signal) : lookUp(sets, signal)),
    wanted: async (zone, owner) =>
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
