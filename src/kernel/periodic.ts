import type { Log } from "./log.ts";

export interface Repetition {
  /** Runs the work now, unless a run is in progress. Resolves when that run has ended; never rejects. */
  run(): Promise<void>;
  /** Prevents further runs. Resolves when the run in progress has ended. */
  stop(): Promise<void>;
}

interface EveryOptions {
  /** Name of the work in the log: "<name> failed, will retry". */
  name: string;
  log: Pick<Log, "warn">;
}

export type Every = typeof every;

/**
 * Runs `work` every `ms` milliseconds, for the first time after `ms`. Runs never overlap: a tick during a run is
 * skipped. A failed run is logged, and the next tick runs it again. The timer does not keep the process alive.
 */
export function every(ms: number, work: () => Promise<unknown> | void, { name, log }: EveryOptions): Repetition {
  let currentRun: Promise<void> | undefined;
  let stopped = false;
  const timer = setInterval(() => void run(), ms).unref();

  function run(): Promise<void> {
    if (stopped) return currentRun ?? Promise.resolve();
    return (currentRun ??= Promise.resolve()
      .then(work)
      .then(
        () => {},
        (err: unknown) => log.warn({ err }, `${name} failed, will retry`),
      )
      .finally(() => {
        currentRun = undefined;
      }));
  }

  return {
    run,
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      await currentRun;
    },
  };
}
