/** Duration in milliseconds of the last run of each file, by its path. */
export type Times = Record<string, number>;

/**
 * A file that takes longer than this counts as slow: it starts servers, browsers or encoders, and two such files keep
 * two cores busy.
 */
const SLOW_MS = 10_000;
/**
 * Assumed for a file without a recorded duration: whole servers, browsers and clients in test/ take longer than
 * components in src/.
 */
const UNKNOWN_MS = { test: 20_000, src: 2_000 };

/**
 * Returns the order in which `slots` processes take the files: the longest first, but one process always works on fast
 * files while there are any, so that not every process waits for the same busy cores.
 */
export function schedule(files: readonly string[], times: Times, slots: number): string[] {
  const timeOf = (file: string) => times[file] ?? UNKNOWN_MS[file.startsWith("test/") ? "test" : "src"];
  const byTime = files.toSorted((a, b) => timeOf(b) - timeOf(a) || (a < b ? -1 : 1));
  const slow = byTime.filter((file) => timeOf(file) >= SLOW_MS);
  const fast = byTime.slice(slow.length);
  const order: string[] = [];
  let running: { ends: number; slow: boolean }[] = [];
  let now = 0;
  while (slow.length + fast.length > 0) {
    if (running.length === slots) {
      now = Math.min(...running.map(({ ends }) => ends));
      running = running.filter(({ ends }) => ends > now);
    }
    const slowRunning = running.filter((one) => one.slow).length;
    const takesSlow = slow.length > 0 && (slowRunning < Math.max(1, slots - 1) || fast.length === 0);
    const file = (takesSlow ? slow : fast).shift()!;
    running.push({ ends: now + timeOf(file), slow: takesSlow });
    order.push(file);
  }
  return order;
}
