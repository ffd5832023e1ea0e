import type { Clock } from "../kernel/index.ts";
import type { DevServer } from "../server/index.ts";
import { parseCron } from "../workers/index.ts";
import { testHelperErrors } from "./errors.ts";

interface AdvanceDeps {
  control: Pick<DevServer["control"], "batchesEnded" | "crons" | "scheduled">;
  clock: Pick<Clock, "now"> & { advance(ms: number): void };
}

const MAX_RUNS = 1000;
/** The largest time value of a Date (ECMA-262 21.4.1.1). */
const MAX_TIME_MS = 8.64e15;

/**
 * Advances the clock by `ms`, and runs each cron trigger when it is due, in chronological order. Throws
 * durationInvalid, tooManyCronRuns; the clock is then unchanged.
 */
export async function advance({ control, clock }: AdvanceDeps, ms: number) {
  const start = clock.now();
  if (!(ms >= 0 && start + ms < MAX_TIME_MS)) throw testHelperErrors.durationInvalid({ duration: ms });
  const end = start + ms;
  const due = control.crons().flatMap(({ worker, cron }) => {
    const times = parseCron(cron)
      .next(new Date(start), MAX_RUNS + 1)
      .filter((time) => time.getTime() <= end);
    return times.map((scheduledTime) => ({ worker, cron, scheduledTime }));
  });
  if (due.length > MAX_RUNS) throw testHelperErrors.tooManyCronRuns({ max: MAX_RUNS });
  const runs: unknown[] = [];
  for (const run of due.toSorted((one, other) => one.scheduledTime.getTime() - other.scheduledTime.getTime())) {
    const { worker, cron, scheduledTime } = run;
    await advanceTo(scheduledTime.getTime());
    const { outcome, exception } = await control.scheduled(worker, { cron, scheduledTime });
    runs.push({
      ...run,
      scheduledTime: scheduledTime.getTime(),
      outcome: outcome === "ok" ? "ok" : "exception",
      ...(exception && { exception }),
    });
  }
  await advanceTo(end);
  return { offset: clock.now() - Date.now(), runs };

  async function advanceTo(time: number) {
    // Otherwise, the delay of a retry could start after the clock was advanced.
    await control.batchesEnded();
    clock.advance(Math.max(0, time - clock.now()));
  }
}
