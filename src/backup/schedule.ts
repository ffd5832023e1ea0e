import { Cron } from "croner";
import type { Clock } from "../kernel/index.ts";
import { backupErrors } from "./errors.ts";

export interface BackupSchedule {
  /** Prevents further runs. Resolves when the run in progress has ended. */
  stop(): Promise<void>;
}

/** setTimeout() fires immediately for more than 2^31 milliseconds. */
const MAX_SLEEP_MS = 86_400_000;

/** Returns why a string is not a valid five-field cron expression, or undefined if it is. */
function cronProblem(pattern: string): string | undefined {
  if (pattern.trim().split(/\s+/).length !== 5) return "it must have five fields";
  try {
    return new Cron(pattern, { timezone: "UTC" }).nextRun() === null ? "it never matches" : undefined;
  } catch (err) {
    return err instanceof Error ? err.message : String(err);
  }
}

/**
 * Calls `work` at the times of a cron expression in UTC. Runs never overlap: times during a run are skipped. `work`
 * reports its own errors. Throws BackupError badSchedule.
 */
export function scheduleBackups(
  pattern: string,
  { clock, work }: { clock: Clock; work: () => Promise<void> },
): BackupSchedule {
  const reason = cronProblem(pattern);
  if (reason !== undefined) throw backupErrors.badSchedule({ schedule: pattern, reason });
  const cron = new Cron(pattern, { timezone: "UTC" });
  const stopping = new AbortController();

  async function run() {
    for (;;) {
      const next = cron.nextRun(new Date(clock.now()))?.getTime();
      if (next === undefined) return;
      while (clock.now() < next) await clock.sleep(Math.min(next - clock.now(), MAX_SLEEP_MS), stopping.signal);
      await work();
    }
  }
  const done = run().catch((err: unknown) => {
    if (!stopping.signal.aborted) throw err;
  });

  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
}
