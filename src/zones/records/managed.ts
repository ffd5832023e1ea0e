import { draftOf, type ChangeRecords } from "./change.ts";
import { digestOf } from "./check.ts";
import { RECORD_COLUMNS, toRecord } from "./records-table.ts";
import type { Executor } from "../tables.ts";
import type { DnsRecord, RecordDraft, RecordRequest, RecordZone } from "./types.ts";

/** What a part of the platform needs in a zone. */
export interface ManagedSet {
  /** Its name, such as "email-routing" or "email-routing/sub.example.com": at most 100 characters. */
  owner: string;
  records: RecordRequest[];
  /** People cannot change locked records. */
  locked: boolean;
  /** Shown in `meta` of each. */
  meta?: Record<string, unknown> | undefined;
}

export interface ManagedRecords {
  /**
   * Makes the owner's records exactly these, all or nothing. A record that is there already, made by a person, becomes the owner's;
   * one of another owner stays theirs and counts as there. Throws what creating a record throws.
   */
  set(zone: RecordZone, wanted: ManagedSet): Promise<DnsRecord[]>;
  /** Locks or unlocks the owner's records; of all names, or of these. How many. */
  lock(zone: RecordZone, owner: string, locked: boolean, names?: readonly string[]): Promise<number>;
  /** Removes the owner's records, locked or not. How many. */
  remove(zone: RecordZone, owner: string): Promise<number>;
  list(zone: string, owner: string): Promise<DnsRecord[]>;
  /** Whoever made them: for finding what stands in the way. At most `limit`. */
  at(zone: string, name: string, types?: readonly string[], limit?: number): Promise<DnsRecord[]>;
}

export function createManagedRecords(tables: Executor, change: ChangeRecords): ManagedRecords {
  const ofOwner = async (db: Executor, zone: string, owner: string) =>
    (await db.selectFrom("dns_records").select(RECORD_COLUMNS).where("zone_id", "=", zone).where("managed_by", "=", owner).orderBy("name").orderBy("type").orderBy("id").execute()).map(toRecord);

  return {
    async set(zone, { owner, records, locked, meta = null }) {
      const drafts = new Map(records.map((request) => draftOf(request, zone)).map((draft) => [keyOf(draft), draft]));
      const keeping = { managedBy: owner, locked, meta };
      return change(zone, async ({ tx, add, keep, remove }) => {
        for (const record of await ofOwner(tx, zone.id, owner)) if (!drafts.has(keyOf(record))) await remove(record);
        const kept: DnsRecord[] = [];
        for (const draft of drafts.values()) {
          const there = await tx.selectFrom("dns_records").select(RECORD_COLUMNS)
            .where("zone_id", "=", zone.id).where("name", "=", draft.name).where("type", "=", draft.type).where("digest", "=", digestOf(draft)).executeTakeFirst();
          if (there === undefined) kept.push(await add(draft, keeping));
          else kept.push(there.managed_by === null || there.managed_by === owner ? await keep(toRecord(there), keeping) : toRecord(there));
        }
        return kept;
      });
    },
    lock: (zone, owner, locked, names) =>
      change(zone, async ({ tx, keep }) => {
        const those = (await ofOwner(tx, zone.id, owner)).filter(({ name }) => names === undefined || names.includes(name));
        for (const record of those) await keep(record, { managedBy: owner, locked, meta: record.meta });
        return those.length;
      }),
    remove: (zone, owner) =>
      change(zone, async ({ tx, remove }) => {
        const those = await ofOwner(tx, zone.id, owner);
        for (const record of those) await remove(record);
        return those.length;
      }),
    list: (zone, owner) => ofOwner(tables, zone, owner),
    async at(zone, name, types, limit = 1000) {
      const query = tables.selectFrom("dns_records").select(RECORD_COLUMNS).where("zone_id", "=", zone).where("name", "=", name).orderBy("type").orderBy("digest").limit(limit);
      return (await (types === undefined ? query : query.where("type", "in", types)).execute()).map(toRecord);
    },
  };
}

const keyOf = (record: RecordDraft) => `${record.name} ${record.type} ${digestOf(record)}`;
