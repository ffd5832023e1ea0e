import type { Page, PageRequest } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import { zoneErrors } from "../errors.ts";
import type { ZoneTables } from "../tables.ts";
import type { Zone } from "../types.ts";
import { runBatch, type Batch, type BatchResult } from "./batch.ts";
import { createRecordChanges, recordDraft, mergePatch, type RecordChangeDeps } from "./change.ts";
import { allRecords, createRecordLister, type RecordQuery } from "./list-table.ts";
import { createManagedRecords, type ManagedRecords } from "./managed.ts";
import { recordById, recordCounts, sumOf } from "./records-table.ts";
import { addMissing } from "./add-missing.ts";
import type { DnsRecord, RecordRequest, RecordZone } from "./types.ts";
import { readImport, recordLine, zoneFileHeader } from "./zone-file.ts";

export interface Records {
  /**
   * Returns a number that changes whenever the records of a zone change; undefined if another process may change them.
   */
  version(zone: string): number | undefined;
  list(zone: string, query: RecordQuery, page: PageRequest): Promise<Page<DnsRecord>>;
  /** Throws noRecord. */
  get(zone: string, id: string): Promise<DnsRecord>;
  /** Throws dnsInvalid and the conflicts of conflicts.ts. */
  create(zone: RecordZone, request: RecordRequest): Promise<DnsRecord>;
  /** Omitted fields are set to their defaults. Throws noRecord, locked and the errors of create. */
  replace(zone: RecordZone, id: string, request: RecordRequest): Promise<DnsRecord>;
  /** Omitted fields keep their values. Throws the errors of replace. */
  update(zone: RecordZone, id: string, change: Partial<RecordRequest>): Promise<DnsRecord>;
  /** Throws noRecord, locked. */
  delete(zone: RecordZone, id: string): Promise<void>;
  /** Atomic. Throws the errors of the individual changes, and batchTooLarge. */
  batch(zone: RecordZone, batch: Batch): Promise<BatchResult>;
  /** Adds the records of a zone file atomically; existing records are skipped. Throws badImport. */
  import(zone: Zone, text: string, options?: { proxied?: boolean }): Promise<{ added: number; parsed: number }>;
  /** Returns a zone file in chunks; `import` reads the same records from it. */
  export(zone: Zone): AsyncGenerator<string>;
  usage(zone: string): Promise<{ records: number; quota: number | null }>;
  managed: ManagedRecords;
}

/** Maximum number of records per import. */
const MAX_IMPORTED_RECORDS = 100_000;

export function createRecords(deps: RecordChangeDeps & { db: Db }): Records {
  const { db, clock, ids, quota } = deps;
  const tables = db.tables<ZoneTables>();
  const change = createRecordChanges(deps);
  const find = recordById(tables, db.read);
  const counts = recordCounts(tables, db.read);

  return {
    version: deps.versions.of,
    list: createRecordLister(tables, db.read),
    async get(zone, id) {
      const record = await find(zone, id);
      if (record === undefined) throw zoneErrors.noRecord();
      return record;
    },
    async create(zone, request) {
      const draft = recordDraft(request, zone);
      return change(zone, ({ add }) => add(draft));
    },
    async replace(zone, id, request) {
      const draft = recordDraft(request, zone);
      return change(zone, async ({ changeable, replace }) => replace(await changeable(id), draft));
    },
    update: (zone, id, recordChange) =>
      change(zone, async ({ changeable, replace }) => {
        const before = await changeable(id);
        return replace(before, recordDraft(mergePatch(before, recordChange), zone));
      }),
    delete: (zone, id) => change(zone, async ({ changeable, remove }) => void (await remove(await changeable(id)))),
    batch: (zone, batch) => runBatch(change, zone, batch),
    async import(zone, text, options) {
      const { drafts, parsed } = readImport(text, zone, { ...options, maxRecords: quota ?? MAX_IMPORTED_RECORDS });
      const addedCount = await change(zone, ({ tx }) =>
        addMissing(tx, zone, drafts, () => ({ id: ids.hex(), now: clock.now() })),
      );
      return { added: addedCount, parsed };
    },
    async *export(zone) {
      yield zoneFileHeader(zone);
      for await (const records of allRecords(tables, zone.id)) yield records.map(recordLine).join("");
    },
    usage: async (zone) => ({ records: sumOf(await counts(zone)), quota }),
    managed: createManagedRecords(tables, change),
  };
}
