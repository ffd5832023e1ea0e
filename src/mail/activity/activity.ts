import type { Clock, Log } from "../../kernel/index.ts";
import { deleteInBatches, type Db } from "../../store/index.ts";
import type { Trace } from "../messages/index.ts";
import { createCounts, type ColumnValue, type Count, type CountQuery, type RowsQuery } from "./counts-table.ts";
import { createEntriesTable } from "./entries-table.ts";
import { activityErrors } from "./errors.ts";
import { createOwners, type OwnerOf } from "./owners.ts";
import type { OutboundQueue } from "../outbound/index.ts";
import { resolveInterrupted } from "./interrupted.ts";
import { createSearch } from "./search-table.ts";
import type { Entry, EntryPage, EntryQuery } from "./types.ts";
import { createWriter, type WrittenEntry } from "./writer.ts";

export interface ActivityOptions {
  db: Db;
  clock: Pick<Clock, "now">;
  log: Log;
  /** Returns the owner of an address's domain, for steps without an owner. */
  ownerOf?: OwnerOf;
  /** Days entries are kept. Default 31. */
  days?: number;
  limits?: Partial<ActivityLimits>;
  /** Called with the entries of each write, after it. Must not throw. */
  onWritten?(entries: readonly WrittenEntry[]): void;
}

interface ActivityLimits {
  /** Maximum number of steps in the write buffer. Default 20,000. */
  maxBuffered: number;
  /** Milliseconds for which steps are collected before a write. Default 100. */
  flushMs: number;
  /** Maximum number of entries a query may cover. Default one million. */
  maxCounted: number;
}

/**
 * The log of messages: received and sent mail, and its outcome. It receives every step through the trace.
 *
 * The log never delays or fails a message. Steps are buffered in memory briefly, and a killed process loses that
 * buffer: the mail is safe, but log lines are missing. Steps that cannot be written in time are dropped, counted and
 * reported by a warning.
 */
export interface Activity {
  /** Days that entries are kept. */
  readonly days: number;
  /** The function for traceTo(). Returns immediately. */
  trace: Trace;
  /** Returns entries, newest first. Throws UserError badCursor. */
  search(query: EntryQuery): Promise<EntryPage>;
  /** Resolves with an entry. Throws UserError noEntry if it does not exist or belongs to another account (or zone). */
  get(of: { account: string; zone?: string }, id: string): Promise<Entry>;
  /** Resolves with entries of a message that an account sent, by its Message-ID. */
  findSent(account: string, messageId: string): Promise<Entry[]>;
  /** Counts entries by column values. Throws UserError tooMany. */
  count(query: CountQuery): Promise<Count[]>;
  /** Resolves with some columns of the first entries in the given order. Throws UserError tooMany. */
  first(query: RowsQuery): Promise<ColumnValue[][]>;
  /**
   * Sets the status of messages that a killed process left as received, last updated before `changedBefore`. Queued
   * messages get their status from the queue, and all others get `unknown`. Resolves with the number of messages.
   */
  resolveInterrupted(queue: Pick<OutboundQueue, "ofInbound">, changedBefore: number): Promise<number>;
  /** Deletes entries past the retention period; returns how many. */
  sweep(): Promise<number>;
  /** Steps dropped since the start. */
  droppedSteps(): number;
  flush(): Promise<void>;
  /** Writes the buffered steps. */
  close(): Promise<void>;
}

const DAY_MS = 24 * 3_600_000;

export function createActivity({
  db,
  clock,
  log,
  ownerOf,
  days = 31,
  limits = {},
  onWritten,
}: ActivityOptions): Activity {
  const table = createEntriesTable(db);
  const search = createSearch(db);
  const counts = createCounts(db, { maxEntries: limits.maxCounted ?? 1_000_000 });
  const writer = createWriter({
    table,
    owners: createOwners({ ownerOf, clock }),
    clock,
    log,
    maxBuffered: limits.maxBuffered ?? 20_000,
    flushMs: limits.flushMs ?? 100,
    ...(onWritten && { onWritten }),
  });

  return {
    days,
    trace: writer.add,
    async search(query) {
      await writer.flush();
      return search.page(query);
    },
    async get({ account, zone }, id) {
      await writer.flush();
      const entry = await search.entry(id);
      if (entry === undefined || entry.account !== account || (zone !== undefined && entry.zone !== zone))
        throw activityErrors.noEntry({ id });
      return entry;
    },
    async findSent(account, messageId) {
      await writer.flush();
      return (await search.ofMessage("sending", messageId)).filter((entry) => entry.account === account);
    },
    async count(query) {
      await writer.flush();
      return counts.groups(query);
    },
    async first(query) {
      await writer.flush();
      return counts.rows(query);
    },
    async sweep() {
      const before = clock.now() - days * DAY_MS;
      return deleteInBatches((limit) => table.deleteBefore(before, limit));
    },
    resolveInterrupted: (queue, changedBefore) => resolveInterrupted({ table, writer, queue, clock }, changedBefore),
    droppedSteps: writer.droppedSteps,
    flush: writer.flush,
    close: writer.close,
  };
}
