import { Cron } from "croner";
import { workerErrors } from "../errors.ts";

/**
 * Cron expressions as in the hosted service: five fields in UTC, days of the week from 1 (Sunday) to 7 or by name, and
 * Quartz's L, W and #. https://developers.cloudflare.com/workers/configuration/cron-triggers/
 */
export interface CronExpression {
  /** True if the expression matches this minute (since the epoch). */
  matchesMinute(minute: number): boolean;
  /** Returns the next times after `from`, at most `count`. */
  next(from: Date, count: number): Date[];
}

/** Allowed characters of each field; croner would accept more (names like @daily, `?`, seconds). */
const FIELDS = [/^[\d*,/-]+$/, /^[\d*,/-]+$/, /^[\dLW*,/-]+$/i, /^[\da-z*,/-]+$/i, /^[\da-z#*,/-]+$/i];
const MAX_LENGTH = 200;

/** Throws badCron. */
export function parseCron(text: string): CronExpression {
  const refuse = (reason: string) => workerErrors.badCron({ cron: text.slice(0, MAX_LENGTH), reason });
  const fields = text.trim().split(/\s+/);
  if (text.length > MAX_LENGTH) throw refuse(`It has more than ${MAX_LENGTH} characters`);
  if (fields.length !== FIELDS.length) throw refuse(`It has ${text.trim() === "" ? 0 : fields.length} fields`);
  const invalidFieldIndex = fields.findIndex((field, i) => !FIELDS[i]!.test(field));
  if (invalidFieldIndex >= 0) throw refuse(`"${fields[invalidFieldIndex]}" is invalid`);
  const day = [...fields[4]!.matchAll(/(?<![#/\d])\d+/g)].find(([number]) => Number(number) < 1 || Number(number) > 7);
  if (day !== undefined) throw refuse(`${day[0]} is not a day of the week`);
  let cron: Cron;
  try {
    cron = new Cron(fields.join(" "), { mode: "5-part", alternativeWeekdays: true, timezone: "UTC" });
  } catch (err) {
    throw workerErrors.badCron(
      { cron: text, reason: (err as Error).message.replace(/^CronPattern: /, "") },
      { cause: err },
    );
  }
  if (cron.nextRun() === null) throw refuse("It never occurs");
  return {
    matchesMinute: (minute) => cron.match(new Date(minute * 60_000)),
    next: (from, count) => cron.nextRuns(count, from),
  };
}
