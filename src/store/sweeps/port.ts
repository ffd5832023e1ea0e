import type { Repetition } from "../../kernel/periodic.ts";
import type { Log } from "../../kernel/index.ts";

/** Periodic work on shared rows and objects, of which only one process at a time performs each run. */
export interface Sweeps {
  /**
   * Like `every` of the kernel, except that a run is skipped while another process performs it, or if one has completed
   * it within the interval. After a process has died, another one performs the next run at its own tick. Two runs may
   * overlap if a process loses the database for longer than its lease, so the work must be idempotent.
   */
  every(ms: number, work: () => Promise<unknown> | void, options: { name: string; log: Pick<Log, "warn"> }): Repetition;
  /**
   * Runs `work` under the same rule. Resolves with the number that it returned or, if it was skipped, with the number
   * from the last completed run in any process; undefined if there is none. Rejects if `work` fails; the next call in
   * any process then runs it again.
   */
  run(name: string, intervalMs: number, work: () => Promise<number | void>): Promise<number | undefined>;
}
