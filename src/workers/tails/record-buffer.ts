import type { Clock, Log } from "../../kernel/index.ts";
import type { TailLimits } from "./limits.ts";
import type { RecordRow, TailsTable } from "./tails-table.ts";

/** Passes records to the process to which their reader is connected: through a table, in batches. */
interface RecordBuffer {
  add(tail: { id: string; script: string }, text: string): void;
  /** Resolves when all added records have been written. */
  flush(): Promise<void>;
}

interface RecordBufferOptions {
  table: Pick<TailsTable, "addRecords">;
  /** Called for each tail with waiting records. */
  announce(tail: string): void;
  createLossNotice(script: string, lostCount: number): string;
  clock: Clock;
  log: Log;
  /** Identifies this process. */
  node: string;
  limits: Pick<TailLimits, "bufferMs" | "bufferRecords" | "bufferBytes">;
}

const BATCH_SIZE = 100;
/** Limits on records waiting to be written: a database slower than the workers must not use up memory. */
const MAX_PENDING_RECORDS = 1000;
const MAX_PENDING_BYTES = 4 * 1024 * 1024;
/** Maximum number of tails whose losses are remembered. */
const MAX_LOSSES = 1000;

export function createRecordBuffer({
  table,
  announce,
  createLossNotice,
  clock,
  log,
  node,
  limits,
}: RecordBufferOptions): RecordBuffer {
  let pendingRecords: { script: string; row: RecordRow }[] = [];
  let pendingBytes = 0;
  /** The current minute: together with the sweep of older records, this bounds the size of the table. */
  let window = { start: -Infinity, records: 0, bytes: 0 };
  let counter = 0;
  let writeInProgress: Promise<void> | undefined;
  const lossesById = new Map<string, { script: string; count: number }>();

  function hasCapacityFor(bytes: number): boolean {
    if (clock.now() - window.start >= limits.bufferMs) window = { start: clock.now(), records: 0, bytes: 0 };
    return (
      pendingRecords.length < MAX_PENDING_RECORDS &&
      pendingBytes + bytes <= MAX_PENDING_BYTES &&
      window.records < limits.bufferRecords &&
      window.bytes + bytes <= limits.bufferBytes
    );
  }

  function put(tail: string, script: string, record: string) {
    pendingRecords.push({ script, row: { tail_id: tail, at: clock.now(), node, n: counter++, record } });
    pendingBytes += record.length;
    window.records++;
    window.bytes += record.length;
  }

  function countLoss(id: string, script: string) {
    if (lossesById.size >= MAX_LOSSES) lossesById.clear();
    lossesById.set(id, { script, count: (lossesById.get(id)?.count ?? 0) + 1 });
  }

  /** Writes the notice about lost records, which precedes the next stored record. */
  function writeLossNotice(id: string) {
    const loss = lossesById.get(id);
    if (loss === undefined) return;
    lossesById.delete(id);
    put(id, loss.script, createLossNotice(loss.script, loss.count));
  }

  async function writeAll(): Promise<void> {
    // Records added in this event loop turn are written together.
    await Promise.resolve();
    while (pendingRecords.length > 0) {
      const batch = pendingRecords.slice(0, BATCH_SIZE);
      try {
        await table.addRecords(batch.map(({ row }) => row));
        for (const tail of new Set(batch.map(({ row }) => row.tail_id))) announce(tail);
      } catch (err) {
        log.warn({ err, records: batch.length }, "tails: failed to forward records");
        for (const { script, row } of batch) countLoss(row.tail_id, script);
      }
      pendingRecords = pendingRecords.slice(batch.length);
      for (const { row } of batch) pendingBytes -= row.record.length;
    }
    writeInProgress = undefined;
  }

  return {
    add({ id, script }, text) {
      if (!hasCapacityFor(text.length)) return countLoss(id, script);
      writeLossNotice(id);
      put(id, script, text);
      writeInProgress ??= writeAll();
    },
    async flush() {
      await writeInProgress;
    },
  };
}
