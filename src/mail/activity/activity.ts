import type { Clock, Log } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { Trace } from "../messages/index.ts";
import { createCounts, type ColumnValue, type Count, type CountQuery, type RowsQuery } from "./counts-table.ts";
import { createEntriesTable } from "./entries-table.ts";
import { activityErrors } from "./errors.ts";
import { createOwners, type OwnerOf } from "./owners.ts";
import type { Queue } from "../outbound/index.ts";
import { settleInterrupted } from "./interrupted.ts";
import { createSearch } from "./search-table.ts";
import type { Entry, EntryPage, EntryQuery } from "./types.ts";
import { createWriter } from "./writer.ts";

export interface ActivityOptions {
  db: Db;
  clock: Pick<Clock, "now">;
  log: Log;
  /** Whose domain an address is of, for steps that do not tell. */
  ownerOf?: OwnerOf;
  /** Days entries are kept. Default 31. */
  days?: number;
  limits?: Partial<ActivityLimits>;
}

export interface ActivityLimits {
  /** Steps that wait to be written. Default 20,000. */
  waiting: number;
  /** Milliseconds that steps are gathered for. Default 100. */
  flushMs: number;
  /** Entries a question may be about. Default a million. */
  counted: number;
}

/**
 * The log of messages: what came in, what was sent, and what became of it. It hears of every step through the trace.
 *
 * The log is not mail. It never holds up or fails a message; its steps wait in memory for a moment, and a process that is killed takes
 * that moment with it: the mail is safe, and its story lacks a line. Steps that cannot be written in time are lost, counted and warned about.
 */
export interface Activity {
  /** Days that entries are kept. */
  readonly days: number;
  /** For traceTo(). Returns at once. */
  trace: Trace;
  /** Newest first. Throws UserError badCursor. */
  search(query: EntryQuery): Promise<EntryPage>;
  /** Throws UserError noEntry, also for an entry of another account (or zone). */
  get(of: { account: string; zone?: string }, id: string): Promise<Entry>;
  /** Entries of one message that an account sent, by its Message-ID. */
  sent(account: string, messageId: string): Promise<Entry[]>;
  /** Entries counted by what they share. Throws UserError tooMany. */
  count(query: CountQuery): Promise<Count[]>;
  /** Some columns of the first entries in an order. Throws UserError tooMany. */
  first(query: RowsQuery): Promise<ColumnValue[][]>;
  /**
   * Sets the status of messages that a killed process left as received, last updated before `changedBefore`. Queued messages get the status of
   * the queue, all others `unknown`. Resolves with their number.
   */
  settleInterrupted(queue: Pick<Queue, "ofInbound">, changedBefore: number): Promise<number>;
  /** Deletes what is older than the days it is kept; returns how many. */
  sweep(): Promise<number>;
  /** Steps that were lost since the start. */
  lost(): number;
  flush(): Promise<void>;
  /** Writes what waits. */
  close(): Promise<void>;
}

const DAY = 24 * 3_600_000;
const SWEPT_AT_ONCE = 500;
const MAX_SWEEPS = 1000;

export function createActivity({ db, clock, log, ownerOf, days = 31, limits = {} }: ActivityOptions): Activity {
  const table = createEntriesTable(db);
  const search = createSearch(db);
  const counts = createCounts(db, { most: limits.counted ?? 1_000_000 });
  const writer = createWriter({
    table,
    owners: createOwners({ ownerOf, clock }),
    clock,
    log,
    most: limits.waiting ?? 20_000,
    flushMs: limits.flushMs ?? 100,
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
    async sent(account, messageId) {
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
      const before = clock.now() - days * DAY;
      let deleted = 0;
      for (let round = 0; round < MAX_SWEEPS; round++) {
        const some = await table.deleteBefore(before, SWEPT_AT_ONCE);
        deleted += some;
        if (some < SWEPT_AT_ONCE) break;
        // Mail that comes in meanwhile writes too.
        await new Promise((resolve) => setImmediate(resolve));
      }
      return deleted;
    },
    settleInterrupted: (queue, changedBefore) => settleInterrupted({ table, writer, queue, clock }, changedBefore),
    lost: writer.lost,
    flush: writer.flush,
    close: writer.close,
  };
}
