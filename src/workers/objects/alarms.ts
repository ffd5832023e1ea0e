import { type Clock, type Log } from "../../kernel/index.ts";
import type { ObjectStorage, ObjectWorker } from "./storage.ts";

/** Starts the processes of workers whose alarms are due; workerd itself then calls the alarm handlers. */
interface ObjectAlarms {
  /** Schedules the alarms of these workers, which have no process yet. */
  watch(workers: readonly ObjectWorker[]): void;
  close(): void;
}

/** setTimeout() is limited to about 24 days. */
const MAX_TIMER_MS = 24 * 3600_000;
const RETRY_MS = 30_000;

export function createObjectAlarms({
  storage,
  wake,
  clock,
  log,
}: {
  storage: Pick<ObjectStorage, "nextAlarm" | "onReleased">;
  /** Starts the process of a worker. Resolves with false if the worker no longer exists. */
  wake(worker: ObjectWorker): Promise<boolean>;
  clock: Clock;
  log: Log;
}): ObjectAlarms {
  const timers = new Map<string, NodeJS.Timeout>();
  let isClosed = false;

  async function schedule(worker: ObjectWorker, pauseMs = 0) {
    const at = await storage.nextAlarm(worker.objects);
    if (at !== undefined) startAfter(worker, Math.max(pauseMs, at - clock.now()));
  }

  function startAfter(worker: ObjectWorker, ms: number) {
    const { owner } = worker.objects;
    clearTimeout(timers.get(owner));
    if (isClosed) return;
    const timer = setTimeout(
      () => {
        timers.delete(owner);
        if (ms > MAX_TIMER_MS) void schedule(worker);
        else void startWorker(worker);
      },
      Math.min(Math.max(0, ms), MAX_TIMER_MS),
    ).unref();
    timers.set(owner, timer);
  }

  async function startWorker(worker: ObjectWorker) {
    try {
      // Since the alarm was read, the process may have started and ended again.
      const at = await storage.nextAlarm(worker.objects);
      if (at === undefined) return;
      if (at > clock.now()) return startAfter(worker, at - clock.now());
      if (await wake(worker)) return;
      log.debug({ worker: worker.name }, "durable objects: alarm skipped; its worker does not exist");
    } catch (err) {
      log.warn({ err, worker: worker.name }, "durable objects: failed to start a worker for its alarms, will retry");
      startAfter(worker, RETRY_MS);
    }
  }

  const unsubscribe = storage.onReleased((worker, pauseMs) => void schedule(worker, pauseMs));

  return {
    watch(workers) {
      for (const worker of workers) void schedule(worker);
    },
    close() {
      isClosed = true;
      unsubscribe();
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
    },
  };
}
