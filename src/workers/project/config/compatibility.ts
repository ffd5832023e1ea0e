import { createRequire } from "node:module";
import { utcDay } from "../../../kernel/index.ts";
import { Fault } from "../../../kernel/errors.ts";

/**
 * The newest compatibility date that the installed workerd supports; workerd does not start with a newer one. The
 * release number contains the date: 1.YYYYMMDD.n. Read from the manifest, because the package itself throws on machines
 * without a matching binary, and reading a project does not need one.
 */
export const NEWEST_COMPATIBILITY_DATE: string = dateOfRelease(
  (createRequire(import.meta.url)("workerd/package.json") as { version: string }).version,
);

function dateOfRelease(version: string): string {
  const [, year, month, day] = /^\d+\.(\d{4})(\d{2})(\d{2})\./.exec(version) ?? [];
  if (year === undefined) throw new Fault(`workerd's version ${version} contains no date`);
  return `${year}-${month}-${day}`;
}

/** From this date on, workerd enables nodejs_compat automatically. */
const NODEJS_COMPAT_BY_DEFAULT = "2026-08-04";
/** From this date on, nodejs_compat includes nodejs_compat_v2: globals, modules without prefix, polyfills. */
const NODEJS_COMPAT_V2 = "2024-09-23";

/**
 * True if code may import Node's built-in modules. Contradictory flags are an error in workerd; here, the negative flag
 * takes precedence.
 */
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

/** True if the bundler adds polyfills for the modules of Node that workerd lacks. */
export function hasNodePolyfills(options: {
  compatibilityDate: string;
  compatibilityFlags: readonly string[];
}): boolean {
  const { compatibilityDate, compatibilityFlags } = options;
  if (compatibilityFlags.includes("nodejs_compat_v2")) return true;
  if (compatibilityFlags.includes("no_nodejs_compat_v2")) return false;
  return hasNodeCompat(options) && compatibilityDate >= NODEJS_COMPAT_V2;
}

type DateVerdict =
  | { kind: "good" }
  | { kind: "no-date" }
  | { kind: "future"; today: string }
  | { kind: "newer"; use: string };

/** `date` already has the form YYYY-MM-DD. `now` in milliseconds. */
export function classifyCompatibilityDate(
  date: string,
  now: number,
  newestDate = NEWEST_COMPATIBILITY_DATE,
): DateVerdict {
  const time = Date.parse(`${date}T00:00:00Z`);
  // Date.parse accepts some impossible days (February 30) and shifts them.
  if (Number.isNaN(time) || utcDay(time) !== date) return { kind: "no-date" };
  // Days are counted in UTC; in eastern time zones it may already be tomorrow.
  if (time > now + 14 * 3_600_000) return { kind: "future", today: utcDay(now) };
  return date > newestDate ? { kind: "newer", use: newestDate } : { kind: "good" };
}

/**
 * Returns the date with which a worker runs: workerd does not start with a date newer than the newest one it supports.
 */
export const supportedDate = (date: string): string =>
  date > NEWEST_COMPATIBILITY_DATE ? NEWEST_COMPATIBILITY_DATE : date;
