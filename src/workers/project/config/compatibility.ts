import { createRequire } from "node:module";
import { Fault } from "../../../kernel/errors.ts";

/**
 * The newest date the installed workerd takes; it refuses to start with a newer one. Its release number carries the date: 1.YYYYMMDD.n.
 * Read from the manifest, because the package itself throws on machines it has no binary for, and reading a project needs none.
 */
export const NEWEST_COMPATIBILITY_DATE: string = dateOfRelease(
  (createRequire(import.meta.url)("workerd/package.json") as { version: string }).version,
);

export function dateOfRelease(version: string): string {
  const [, year, month, day] = /^\d+\.(\d{4})(\d{2})(\d{2})\./.exec(version) ?? [];
  if (year === undefined) throw new Fault(`workerd's version ${version} carries no date`);
  return `${year}-${month}-${day}`;
}

/** From this date on workerd switches nodejs_compat on by itself. */
const NODEJS_COMPAT_BY_DEFAULT = "2026-08-04";

/** Whether code may import Node's built-in modules. The last of two contrary flags is an error in workerd; here the "no" counts. */
export function hasNodeCompat({
  compatibilityDate,
  compatibilityFlags,
}: {
  compatibilityDate: string;
  compatibilityFlags: readonly string[];
}): boolean {
  if (compatibilityFlags.includes("no_nodejs_compat")) return false;
  return (
    compatibilityDate >= NODEJS_COMPAT_BY_DEFAULT ||
    compatibilityFlags.some((flag) => flag === "nodejs_compat" || flag === "nodejs_compat_v2")
  );
}

export type DateVerdict =
  | { kind: "good" }
  | { kind: "no-date" }
  | { kind: "future"; today: string }
  | { kind: "newer"; use: string };

/** `date` has the form YYYY-MM-DD already. `now` in milliseconds. */
export function judgeDate(date: string, now: number, newest = NEWEST_COMPATIBILITY_DATE): DateVerdict {
  const time = Date.parse(`${date}T00:00:00Z`);
  // Date.parse takes some days no month has (February 30) and moves them on.
  if (Number.isNaN(time) || isoDate(time) !== date) return { kind: "no-date" };
  // Days are counted in UTC; a developer far in the east lives in tomorrow.
  if (time > now + 14 * 3_600_000) return { kind: "future", today: isoDate(now) };
  return date > newest ? { kind: "newer", use: newest } : { kind: "good" };
}

export const isoDate = (time: number): string => new Date(time).toISOString().slice(0, 10);
