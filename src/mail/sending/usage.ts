import type { Clock } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import { mailErrors } from "../errors.ts";
import { countSent, deleteUsage, countSentOn, type SendingTables } from "./domains-table.ts";
import type { SendingUsage } from "./types.ts";

interface Usage {
  /** Counts a message. Throws dailyLimitReached. */
  consume(account: string): Promise<void>;
  of(account: string): Promise<SendingUsage>;
  /** Deletes the counts of past days. */
  sweep(): Promise<void>;
}

const DAY_MS = 86_400_000;
const RETENTION_DAYS = 7;

/** Counts messages sent today per account, across all processes. If `limit` is 0, nothing is counted. */
export function createUsage({ db, clock, limit }: { db: Db; clock: Pick<Clock, "now">; limit: number }): Usage {
  const tables = db.tables<SendingTables>();
  const today = () => Math.floor(clock.now() / DAY_MS);
  const endOf = (day: number) => (day + 1) * DAY_MS;

  return {
    async consume(account) {
      if (limit === 0) return;
      const day = today();
      const { rows } = await db.write(countSent(tables, account, day, limit));
      if (rows.length === 0)
        throw mailErrors.dailyLimitReached({
          limit,
          retryAfter: Math.max(1, Math.ceil((endOf(day) - clock.now()) / 1000)),
        });
    },
    async of(account) {
      if (limit === 0) return { quota: null, usage: null };
      const day = today();
      const sentCount = await countSentOn(tables, account, day);
      return {
        quota: { unit: "day", value: limit },
        usage: { sent: sentCount, overQuota: sentCount >= limit, resetsAt: endOf(day) },
      };
    },
    sweep: async () => void (await db.write(deleteUsage(tables, today() - RETENTION_DAYS))),
  };
}
