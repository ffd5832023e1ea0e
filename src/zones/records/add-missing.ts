import { setImmediate as nextRound } from "node:timers/promises";
import { UserError } from "../../kernel/index.ts";
import { checkConflicts } from "./conflicts.ts";
import { newRecord } from "./change.ts";
import { insertRecords } from "./records-table.ts";
import type { Executor } from "../tables.ts";
import type { DnsRecord, RecordDraft, RecordZone } from "./types.ts";

const AT_ONCE = 500;

/** Adds the records that are not there yet; how many. Throws what stands in the way of one. */
export async function addMissing(
  tx: Executor,
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
    // Others have their turn too: SQLite answers without ever waiting.
    await nextRound();
  };
  for (const group of Map.groupBy(drafts, ({ name }) => name).values()) {
    for (const [index, draft] of group.entries()) {
      // Only records of one name can stand in each other's way: the one before must be in the table by now.
      if (index > 0 || waiting.length >= AT_ONCE) await flush();
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
