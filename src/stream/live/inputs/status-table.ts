import { sql } from "kysely";
import { offsetOf, type Page, type PageRequest } from "../../../kernel/index.ts";
import type { Db } from "../../../store/index.ts";
import type { LiveState } from "./port.ts";
import type { HistoryRow, LiveInputTables } from "./live-table.ts";
import type { LiveEvent, LiveHistoryEntry } from "./types.ts";

export type StatusTable = ReturnType<typeof createStatusTable>;
/** A history entry; `event` derives its notification from the previous state. */
interface NewHistoryEntry extends Pick<
  HistoryRow,
  "at" | "state" | "error" | "protocol" | "session" | "reason" | "once"
> {
  input: string;
  /** Maps the previous state to the state to store. Default: `state`. */
  resolve?(before: LiveState | null): LiveState;
  event(before: LiveState | null): LiveEvent["type"] | null;
}

/** Maximum number of history entries per input; older ones are deleted. */
const MAX_HISTORY_ENTRIES = 500;

export function createStatusTable(db: Db) {
  const tables = db.tables<LiveInputTables>();
  const events = tables
    .selectFrom("stream_live_history")
    .innerJoin("stream_live_inputs", "uid", "input_uid")
    .select(["input_uid", "n", "at", "event", "error", "account_id"]);

  return {
    /**
     * Returns the event of the entry, if any. Also undefined if the input does not exist or the entry has already been
     * recorded.
     */
    add: ({ input, event: eventOf, resolve, ...given }: NewHistoryEntry): Promise<LiveEvent | undefined> =>
      db.transaction<LiveInputTables, LiveEvent | undefined>(async (tx) => {
        const row = await tx
          .selectFrom("stream_live_inputs")
          .select(["account_id", "status", "noted"])
          .where("uid", "=", input)
          .executeTakeFirst();
        if (row === undefined) return undefined;
        const entry = { ...given, ...(resolve && { state: resolve(row.status) }) };
        if (entry.once !== null) {
          const existingEntry = await tx
            .selectFrom("stream_live_history")
            .select("n")
            .where("input_uid", "=", input)
            .where("once", "=", entry.once)
            .executeTakeFirst();
          if (existingEntry !== undefined) return undefined;
        }
        const [n, event] = [Number(row.noted) + 1, eventOf(row.status)];
        await tx
          .insertInto("stream_live_history")
          .values({ ...entry, input_uid: input, n, event, told: event === null ? 1 : 0 })
          .execute();
        await tx
          .updateTable("stream_live_inputs")
          .set({ noted: n, ...(entry.state !== null && { status: entry.state, status_at: entry.at }) })
          .where("uid", "=", input)
          .execute();
        await tx
          .deleteFrom("stream_live_history")
          .where("input_uid", "=", input)
          .where("n", "<=", n - MAX_HISTORY_ENTRIES)
          .execute();
        return event === null
          ? undefined
          : toEvent({ input_uid: input, n, at: entry.at, event, error: entry.error, account_id: row.account_id });
      }),

    async markReported({ input, n }: { input: string; n: number }): Promise<void> {
      await db.write(
        tables.updateTable("stream_live_history").set({ told: 1 }).where("input_uid", "=", input).where("n", "=", n),
      );
    },

    async unreported(before: number, limit: number): Promise<LiveEvent[]> {
      return (
        await events
          // A literal, for the partial index.
          .where("told", "=", sql.lit(0))
          .where("at", "<=", before)
          .orderBy("at")
          .orderBy("input_uid")
          .orderBy("n")
          .limit(limit)
          .execute()
      ).map(toEvent);
    },

    async history(input: string, page: PageRequest): Promise<Page<LiveHistoryEntry>> {
      const { total } = await tables
        .selectFrom("stream_live_history")
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .where("input_uid", "=", input)
        .executeTakeFirstOrThrow();
      const rows = await tables
        .selectFrom("stream_live_history")
        .selectAll()
        .where("input_uid", "=", input)
        .orderBy("n", "desc")
        .limit(page.perPage)
        .offset(offsetOf(page))
        .execute();
      return { items: rows.map(toEntry), total: Number(total) };
    },
  };
}

const toEvent = ({
  input_uid,
  n,
  at,
  event,
  error,
  account_id,
}: Pick<HistoryRow, "input_uid" | "n" | "at" | "event" | "error"> & { account_id: string }): LiveEvent => ({
  id: `${input_uid}-${n}`,
  type: event!,
  account: account_id,
  input: input_uid,
  at,
  error: errorOf(error),
});

const toEntry = ({ n, at, state, error, protocol, session, reason }: HistoryRow): LiveHistoryEntry => ({
  n,
  at,
  state,
  error: errorOf(error),
  protocol,
  session,
  reason,
});

const errorOf = (error: string | null): LiveHistoryEntry["error"] =>
  error === null ? null : (JSON.parse(error) as LiveHistoryEntry["error"]);
