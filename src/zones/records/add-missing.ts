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
  birth: () => { id: string; now: number },
): Promise<number> {
  let added = 0;
  let waiting: DnsRecord[] = [];
  const flush = async () => {
    if (waiting.length > 0) await insertRecords(tx, waiting);
    added += waiting.length;
    waiting = [];
    // Yields to other tasks, because SQLite calls are synchronous.
    await nextRound();
  };
  for (const group of Map.groupBy(drafts, ({ name }) => name).values()) {
    for (const [index, draft] of group.entries()) {
      // Only records with the same name can conflict, so the previous one must already be in the table.
      if (index > 0 || waiting.length >= MAX_ROWS_PER_INSERT) await flush();
      if (!(await isThere(() => checkConflicts(tx, zone, draft)))) waiting.push(newRecord(draft, zone, birth()));
    }
  }
  await flush();
  return added;
}

async function isThere(check: () => Promise<void>): Promise<boolean> {
  try {
    await check();
    return false;
  } catch (err) {
    if (err instanceof UserError && err.kind === "identical") return true;
    throw err;
  }
}
