import type { Clock, Ids } from "../../kernel/index.ts";
import { createKeyedQueue } from "../../kernel/keyed-queue.ts";
import { isUniqueViolation, type Db, type Versions } from "../../store/index.ts";
import { zoneErrors } from "../errors.ts";
import type { ZonesExecutor, ZoneTables } from "../tables.ts";
import { checkRecord, recordDigest } from "./check.ts";
import { checkConflicts } from "./conflicts.ts";
import {
  bumpSerial,
  deleteRecord,
  insertRecords,
  recordById,
  recordCounts,
  sumOf,
  updateRecord,
} from "./records-table.ts";
import type { DnsRecord, RecordDraft, RecordRequest, RecordZone } from "./types.ts";

/** Published with the zone's id after every change to its records. */
export const RECORDS_CHANGED = "zones.records";

export interface RecordChangeDeps {
  db: Db;
  clock: Clock;
  ids: Ids;
  /** Zone versions, updated through RECORDS_CHANGED. */
  versions: Versions;
  /** Maximum number of records per zone; null: unlimited. */
  quota: number | null;
}

/** Ownership of a record that is managed by a component. */
interface Management {
  managedBy: string;
  locked: boolean;
  meta: Record<string, unknown> | null;
}

/** The operations that change records, within one transaction. */
interface ChangeSteps {
  tx: ZonesExecutor;
  zone: RecordZone;
  add(draft: RecordDraft, management?: Management): Promise<DnsRecord>;
  replace(before: DnsRecord, draft: RecordDraft): Promise<DnsRecord>;
  keep(before: DnsRecord, management: Management | null): Promise<DnsRecord>;
  remove(record: DnsRecord): Promise<DnsRecord>;
  /** Returns a record that users may change. Throws noRecord, locked. */
  changeable(id: string): Promise<DnsRecord>;
}

export type ChangeRecords = <Result>(
  zone: RecordZone,
  work: (steps: ChangeSteps) => Promise<Result>,
) => Promise<Result>;

/** Runs `work` in one transaction. */
export function createRecordChanges({ db, clock, ids, versions, quota }: RecordChangeDeps): ChangeRecords {
  // Changes to one zone update the same counter rows: concurrent transactions would conflict and be retried on
  // PostgreSQL.
  const queue = createKeyedQueue();

  return async (zone, work) => {
    const result = await queue(zone.id, () => transact(zone, work));
    versions.markChanged(zone.id);
    return result;
  };

  async function transact<Result>(zone: RecordZone, work: (steps: ChangeSteps) => Promise<Result>): Promise<Result> {
    try {
      return await db.transaction<ZoneTables, Result>(async (tx) => {
        // Done first, so that the zone cannot be deleted concurrently.
        if (!(await bumpSerial(tx, zone.id))) throw zoneErrors.noZone({ id: zone.id });
        const result = await work(steps(tx, zone));
        if (quota !== null && sumOf(await recordCounts(tx)(zone.id)) > quota) throw zoneErrors.quotaExceeded({ quota });
        return result;
      });
    } catch (err) {
      throw isUniqueViolation(err) ? zoneErrors.identical({}, { cause: err }) : err;
    }
  }

  function steps(tx: ZonesExecutor, zone: RecordZone): ChangeSteps {
    const find = recordById(tx);
    return {
      tx,
      zone,
      async add(draft, management) {
        await checkConflicts(tx, zone, draft);
        const record = newRecord(draft, zone, { id: ids.hex(), now: clock.now() }, management);
        await insertRecords(tx, [record]);
        return record;
      },
      async replace(before, draft) {
        await checkConflicts(tx, zone, draft, before.id);
        const now = clock.now();
        const isUnchanged =
          before.type === draft.type && before.name === draft.name && recordDigest(before) === recordDigest(draft);
        const record: DnsRecord = {
          ...before,
          ...draft,
          modifiedAt: now,
          // A managed record whose content has been changed belongs to the user.
          ...(!isUnchanged && { managedBy: null, locked: false, meta: null }),
          commentAt: draft.comment === null ? null : draft.comment === before.comment ? before.commentAt : now,
          tagsAt:
            draft.tags.length === 0
              ? null
              : JSON.stringify(draft.tags) === JSON.stringify(before.tags)
                ? before.tagsAt
                : now,
        };
        await updateRecord(tx, before, record);
        return record;
      },
      async keep(before, management) {
        const record: DnsRecord = { ...before, ...(management ?? { managedBy: null, locked: false, meta: null }) };
        await updateRecord(tx, before, record);
        return record;
      },
      async remove(record) {
        await deleteRecord(tx, record);
        return record;
      },
      async changeable(id) {
        const record = await find(zone.id, id);
        if (record === undefined) throw zoneErrors.noRecord();
        if (record.locked) throw zoneErrors.locked({ owner: record.managedBy });
        return record;
      },
    };
  }
}

export const newRecord = (
  draft: RecordDraft,
  zone: RecordZone,
  { id, now }: { id: string; now: number },
  management?: Management,
): DnsRecord => ({
  ...draft,
  id,
  zone: zone.id,
  account: zone.account,
  createdAt: now,
  modifiedAt: now,
  commentAt: draft.comment === null ? null : now,
  tagsAt: draft.tags.length === 0 ? null : now,
  managedBy: management?.managedBy ?? null,
  locked: management?.locked ?? false,
  meta: management?.meta ?? null,
});

/** Merges changed fields into a complete request. */
export function mergePatch(record: DnsRecord, change: Partial<RecordRequest>): RecordRequest {
  const isSameType = change.type === undefined || change.type.toUpperCase() === record.type;
  const hasNewContent = change.content !== undefined && change.data === undefined;
  return {
    type: change.type ?? record.type,
    name: change.name ?? record.name,
    // If there is data, the content is derived from it.
    content:
      change.content ?? (isSameType && change.data === undefined ? (record.written ?? record.content) : undefined),
    data: hasNewContent
      ? undefined
      : change.data === undefined
        ? undefined
        : {
            ...(isSameType && record.data),
            ...(isSameType && record.priority !== null && { priority: record.priority }),
            ...(change.priority !== undefined && { priority: change.priority }),
            ...change.data,
          },
    priority: change.priority ?? (isSameType ? (record.priority ?? undefined) : undefined),
    ttl: change.ttl ?? record.ttl,
    proxied: change.proxied ?? (isSameType ? record.proxied : undefined),
    privateRouting: change.privateRouting ?? record.privateRouting,
    settings:
      change.settings === undefined ? (record.settings ?? undefined) : { ...record.settings, ...change.settings },
    comment: change.comment === undefined ? record.comment : change.comment,
    tags: change.tags ?? record.tags,
  };
}

export const recordDraft = (request: RecordRequest, zone: RecordZone): RecordDraft => checkRecord(request, zone.name);
