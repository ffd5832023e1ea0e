import { setImmediate as nextRound } from "node:timers/promises";
import { UserError } from "../../kernel/index.ts";
import { checkConflicts } from "./conflicts.ts";
import { newRecord } from "./change.ts";
import { insertRecords } from "./records-table.ts";
import type { ZonesExecutor } from "../tables.ts";
import type { DnsRecord, RecordDraft, RecordZone } from "./types.ts";

const MAX_ROWS_PER_INSERT = 500;

/**
 * Adds the missing records. Resolves with the number of added records. Throws the conflict of the first record that
 * cannot be added.
 */
export async function addMissing(
  tx: ZonesExecutor,
  zone: RecordZone,
  drafts: readonly RecordDraft[],
  createIdentity: () => { id: string; now: number },
): Promise<number> {
  let addedCount = 0;
  let pendingRecords: DnsRecord[] = [];
  const flush = async () => {
    if (pendingRecords.length > 0) await insertRecords(tx, pendingRecords);
    addedCount += pendingRecords.length;
    pendingRecords = [];
    // Yields to other tasks, because SQLite calls are synchronous.
    await nextRound();
  };
  for (const group of Map.groupBy(drafts, ({ name }) => name).values()) {
    for (const [index, draft] of group.entries()) {
      // Only records with the same name can conflict, so the previous one must already be in the table.
      if (index > 0 || pendingRecords.length >= MAX_ROWS_PER_INSERT) await flush();
      if (!(await isExisting(() => checkConflicts(tx, zone, draft))))
        pendingRecords.push(newRecord(draft, zone, createIdentity()));
    }
  }
  await flush();
  return addedCount;
}

async function isExisting(check: () => Promise<void>): Promise<boolean> {
  try {
    await check();
    return false;
  } catch (err) {
    if (err instanceof UserError && err.kind === "identical") return true;
    throw err;
  }
}
