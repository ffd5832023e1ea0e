import type { Clock } from "../../kernel/index.ts";
import type { Backlog, MessagesTable } from "./messages-table.ts";
import type { QueueMetrics } from "./port.ts";
import type { QueueMessageRow } from "./schema.ts";

/** Minimum time for which a count is reused, short enough for clients not to notice. */
const MIN_FRESH_MS = 1000;
/** A count is reused for this multiple of the time that counting took: counting a million messages takes a second. */
const REUSE_FACTOR = 20;
const MAX_ENTRIES = 1000;

interface Entry extends Backlog {
  until: number;
}

/**
 * Caches the backlogs of queues, which every send() returns. Recounts a backlog after a second, or later if counting
 * takes long. Messages that this process sends meanwhile are added.
 */
export function createBacklogs({ table, clock }: { table: Pick<MessagesTable, "backlog">; clock: Clock }) {
  const entries = new Map<string, Entry>();

  async function count(queue: string): Promise<Entry> {
    const startTime = performance.now();
    const backlog = await table.backlog(queue);
    const entry = {
      ...backlog,
      until: clock.now() + Math.max(MIN_FRESH_MS, REUSE_FACTOR * (performance.now() - startTime)),
    };
    entries.delete(queue);
    // A Map keeps insertion order, so the first entry is the oldest.
    if (entries.size >= MAX_ENTRIES) entries.delete(entries.keys().next().value!);
    entries.set(queue, entry);
    return entry;
  }

  return {
    async get(queue: string): Promise<QueueMetrics> {
      const cachedEntry = entries.get(queue);
      const entry = cachedEntry !== undefined && cachedEntry.until > clock.now() ? cachedEntry : await count(queue);
      return {
        backlogCount: entry.count,
        backlogBytes: entry.bytes,
        oldestMessage: entry.oldest === undefined ? undefined : new Date(entry.oldest),
      };
    },
    addMessages(queue: string, rows: readonly Pick<QueueMessageRow, "size" | "sent_at">[]): void {
      const entry = entries.get(queue);
      if (entry === undefined) return;
      for (const { size, sent_at } of rows) {
        entry.count++;
        entry.bytes += size;
        entry.oldest ??= sent_at;
      }
    },
    forget: (queue: string) => void entries.delete(queue),
  };
}
