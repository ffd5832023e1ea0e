import { messageOf } from "../kernel/index.ts";
import type { FollowUp, ItemProgress, MigrationDeps, PlannedItem, Report, RunProgress } from "./port.ts";

/** Number of bytes and entries that take about as long as one request. */
const BYTES_PER_UNIT = 200_000;
const ENTRIES_PER_UNIT = 20;
/** An estimate after a shorter time would be meaningless. */
const MIN_MEASURED_MS = 2000;

const unitsOf = ({ entries = 0, bytes = 0 }: Pick<PlannedItem, "entries" | "bytes">) =>
  entries / ENTRIES_PER_UNIT + bytes / BYTES_PER_UNIT;

/** Imports the new and changed items in order. A failed item does not stop the others. */
export async function applyItems(
  items: readonly PlannedItem[],
  { clock, signal }: Pick<MigrationDeps, "clock" | "signal">,
  followUp: FollowUp,
  onProgress: (progress: RunProgress) => void,
): Promise<Report> {
  const wanted = items.filter(({ apply }) => apply !== undefined);
  const report: Report = { imported: {}, failed: [], warnings: [], followUp };
  const secondsLeft = createEstimate(wanted, clock);
  const count = (noun: string, number: number) => void (report.imported[noun] = (report.imported[noun] ?? 0) + number);
  for (const [done, item] of wanted.entries()) {
    signal?.throwIfAborted();
    const { kind, name } = item;
    const copied = { bytes: 0, entries: 0 };
    const notify = () =>
      onProgress({ done, total: wanted.length, item, secondsLeft: secondsLeft(done, unitsOf(copied)) });
    const add = (field: keyof typeof copied) => (number: number) => {
      copied[field] += number;
      notify();
    };
    const progress: ItemProgress = {
      bytes: add("bytes"),
      entries: add("entries"),
      warn: (text) => void report.warnings.push({ kind, name, text }),
    };
    notify();
    try {
      await item.apply!(progress);
      count(kind, 1);
      if (copied.entries > 0 && ENTRY_NOUNS[kind] !== undefined) count(ENTRY_NOUNS[kind], copied.entries);
    } catch (thrown) {
      if (signal?.aborted === true) throw thrown;
      report.failed.push({ kind, name, reason: messageOf(thrown) });
    }
  }
  return report;
}

const ENTRY_NOUNS: Record<string, string | undefined> = { "KV namespace": "KV key", "R2 bucket": "R2 object" };

/** Estimates the remaining seconds from the number of finished items and the copied units of the current one. */
function createEstimate(items: readonly PlannedItem[], clock: Pick<MigrationDeps["clock"], "now">) {
  const startedAt = clock.now();
  const sums = [0];
  for (const item of items) sums.push(sums.at(-1)! + 1 + unitsOf(item));
  return (done: number, copiedUnits: number): number | undefined => {
    const finished = sums[done]! + Math.min(copiedUnits, sums[done + 1]! - sums[done]!);
    const elapsed = clock.now() - startedAt;
    if (elapsed < MIN_MEASURED_MS || finished === 0) return undefined;
    return Math.ceil(((elapsed / finished) * (sums.at(-1)! - finished)) / 1000);
  };
}
