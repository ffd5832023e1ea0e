import type { RecordType } from "../../protocol/dns/index.ts";
import { recordDraft, type ChangeRecords } from "./change.ts";
import { recordDigest } from "./check.ts";
import { recordsAt, listOwnedRecords, findSameRecord } from "./lookup-table.ts";
import type { ZonesExecutor } from "../tables.ts";
import type { DnsRecord, RecordDraft, RecordRequest, RecordZone } from "./types.ts";

/** The records that a component needs in a zone. */
interface ManagedSet {
  /** Owner name of at most 100 characters, such as "email-routing" or "email-routing/sub.example.com". */
  owner: string;
  records: RecordRequest[];
  /** Users cannot change locked records. */
  locked: boolean;
  /** Shown in `meta` of each record. */
  meta?: Record<string, unknown> | undefined;
  /** Records created by users that these records replace. */
  replacedRecords?: readonly RecordDraft[];
}

/** Additions to and removals from the records of an owner. */
interface ManagedChange {
  owner: string;
  add: readonly RecordDraft[];
  /** Records of the owner, and records that users created, may be removed. */
  remove: readonly RecordDraft[];
  locked: boolean;
  meta?: Record<string, unknown> | undefined;
  /** Called first; if it throws, nothing changes. `recordsAtName` reads the records of a name. */
  check?(recordsAtName: (name: string, type: RecordType) => Promise<DnsRecord[]>): Promise<void>;
}

export interface ManagedRecords {
  /**
   * Makes the owner's records exactly these, atomically. An equal record of a user becomes the owner's; an equal record
   * of a different owner keeps its owner and counts as present. Throws the errors of creating a record.
   */
  set(zone: RecordZone, wanted: ManagedSet): Promise<DnsRecord[]>;
  /** Removes and adds atomically; treats existing records as `set` does. */
  alter(zone: RecordZone, wanted: ManagedChange): Promise<void>;
  /** Locks or unlocks the owner's records, for all names or for the given ones. Resolves with the number of records. */
  lock(zone: RecordZone, owner: string, locked: boolean, names?: readonly string[]): Promise<number>;
  /** Removes the owner's records, whether locked or not. Resolves with the number of records. */
  remove(zone: RecordZone, owner: string): Promise<number>;
  list(zone: string, owner: string): Promise<DnsRecord[]>;
  /** Records of any owner, to find conflicts. At most `limit`. */
  at(zone: string, name: string, types?: readonly string[], limit?: number): Promise<DnsRecord[]>;
}

export function createManagedRecords(tables: ZonesExecutor, change: ChangeRecords): ManagedRecords {
  return {
    async set(zone, { owner, records, locked, meta = null, replacedRecords = [] }) {
      const drafts = new Map(
        records.map((request) => recordDraft(request, zone)).map((draft) => [keyOf(draft), draft]),
      );
      const management = { managedBy: owner, locked, meta };
      return change(zone, async ({ tx, add, keep, remove }) => {
        for (const record of await listOwnedRecords(tx, zone.id, owner))
          if (!drafts.has(keyOf(record))) await remove(record);
        for (const draft of replacedRecords) {
          const existingRecord = await findSameRecord(tx, zone, draft);
          if (existingRecord?.managedBy === null) await remove(existingRecord);
        }
        const keptRecords: DnsRecord[] = [];
        for (const draft of drafts.values()) {
          const currentRecord = await findSameRecord(tx, zone, draft);
          if (currentRecord === undefined) keptRecords.push(await add(draft, management));
          else keptRecords.push(isTheirs(currentRecord, owner) ? await keep(currentRecord, management) : currentRecord);
        }
        return keptRecords;
      });
    },
    alter: (zone, { owner, add: addedDrafts, remove: removedDrafts, locked, meta = null, check }) =>
      change(zone, async ({ tx, add, keep, remove }) => {
        await check?.((name, type) => recordsAt(tx, zone.id, name, [type]));
        for (const draft of removedDrafts) {
          const currentRecord = await findSameRecord(tx, zone, draft);
          if (currentRecord !== undefined && isTheirs(currentRecord, owner)) await remove(currentRecord);
        }
        const management = { managedBy: owner, locked, meta };
        for (const draft of addedDrafts) {
          const there = await findSameRecord(tx, zone, draft);
          if (there === undefined) await add(draft, management);
          else if (isTheirs(there, owner)) await keep(there, management);
        }
      }),
    lock: (zone, owner, locked, names) =>
      change(zone, async ({ tx, keep }) => {
        const ownedRecords = (await listOwnedRecords(tx, zone.id, owner)).filter(
          ({ name }) => names === undefined || names.includes(name),
        );
        for (const record of ownedRecords) await keep(record, { managedBy: owner, locked, meta: record.meta });
        return ownedRecords.length;
      }),
    remove: (zone, owner) =>
      change(zone, async ({ tx, remove }) => {
        const ownedRecords = await listOwnedRecords(tx, zone.id, owner);
        for (const record of ownedRecords) await remove(record);
        return ownedRecords.length;
      }),
    list: (zone, owner) => listOwnedRecords(tables, zone, owner),
    at: (zone, name, types, limit) => recordsAt(tables, zone, name, types, limit),
  };
}

const isTheirs = ({ managedBy }: DnsRecord, owner: string) => managedBy === null || managedBy === owner;

const keyOf = (record: RecordDraft) => `${record.name} ${record.type} ${recordDigest(record)}`;
