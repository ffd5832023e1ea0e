/** Versions contain the date of their runtime: 1.20261117.1 is of 2026-11-17. */
const VERSION = /^(\d+)\.(\d{4})(\d{2})(\d{2})\.(\d+)$/;
const DAY_MS = 24 * 3600_000;

/** Compares the pinned version with the newest one. Throws if one of them is not a version of workerd. */
export function describeAge(pinned: string, newest: string): { older: boolean; text: string } {
  const [ours, theirs] = [parse(pinned), parse(newest)];
  const at = ours.order.findIndex((part, i) => part !== theirs.order[i]);
  if (at < 0 || ours.order[at]! > theirs.order[at]!)
    return { older: false, text: `workerd ${pinned} is the newest version` };
  const days = Math.round((theirs.date - ours.date) / DAY_MS);
  return {
    older: true,
    text: `workerd ${pinned} is ${days} day${days === 1 ? "" : "s"} older than the newest version, ${newest}. Update it in package.json`,
  };
}

function parse(version: string): { order: number[]; date: number } {
  const match = VERSION.exec(version);
  if (match === null) throw new Error(`not a version of workerd: ${JSON.stringify(version)}`);
  const [major, year, month, day, patch] = match.slice(1).map(Number) as [number, number, number, number, number];
  return { order: [major, year, month, day, patch], date: Date.UTC(year, month - 1, day) };
}
