import type { Clock } from "../../kernel/index.ts";
import { routingErrors } from "../routing/errors.ts";

/** Verification mails of one account in an hour: whoever adds and deletes addresses all day must not write to half the world. */
const PER_HOUR = 300;
const HOUR_MS = 3_600_000;
const MAX_ACCOUNTS = 10_000;

/** Counts in this process's memory: a bound, no book-keeping. */
export function createMailQuota(clock: Pick<Clock, "now">): { take(account: string): void } {
  const hours = new Map<string, { until: number; count: number }>();

  return {
    /** Throws tooManyMails. */
    take(account) {
      const now = clock.now();
      let hour = hours.get(account);
      if (hour === undefined || hour.until <= now) {
        hour = { until: now + HOUR_MS, count: 0 };
        hours.delete(account);
        if (hours.size >= MAX_ACCOUNTS) hours.delete(hours.keys().next().value!);
        hours.set(account, hour);
      }
      if (hour.count >= PER_HOUR) throw routingErrors.tooManyMails({ limit: PER_HOUR, retryAfter: Math.ceil((hour.until - now) / 1000) });
      hour.count++;
    },
  };
}
