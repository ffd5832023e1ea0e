import type { Log } from "./log.ts";

/**
 * Components are started where they are created; their stop functions are registered here and run in reverse order,
 * each with its own time limit.
 */
export interface Lifecycle {
  /**
   * Registers a function to run at shutdown. A function that takes longer than `timeoutMs` (default 10 s) is logged and
   * no longer awaited.
   */
  onStop(name: string, stop: () => Promise<void> | void, options?: { timeoutMs?: number }): void;
  /** Runs every stop function once, in reverse order of registration. Safe to call again: returns the same promise. */
  stop(): Promise<void>;
  readonly stopping: AbortSignal;
}

export function createLifecycle({ log }: { log: Log }): Lifecycle {
  const stops: { name: string; stop: () => Promise<void> | void; timeoutMs: number }[] = [];
  const controller = new AbortController();
  let stopped: Promise<void> | undefined;

  async function stopAll() {
    controller.abort(new Error("the server is shutting down"));
    for (const { name, stop, timeoutMs } of stops.toReversed()) {
      let timer: NodeJS.Timeout | undefined;
      const timeoutPromise = new Promise<"late">((resolve) => {
        timer = setTimeout(() => resolve("late"), timeoutMs);
      });
      try {
        const result = await Promise.race([Promise.resolve().then(stop), timeoutPromise]);
        if (result === "late") log.warn({ part: name, timeoutMs }, "shutdown: component did not stop in time");
      } catch (err) {
        log.error({ part: name, err }, "shutdown: component failed to stop");
      } finally {
        clearTimeout(timer);
      }
    }
  }

  return {
    stopping: controller.signal,
    onStop: (name, stop, { timeoutMs = 10_000 } = {}) => void stops.push({ name, stop, timeoutMs }),
    stop: () => (stopped ??= stopAll()),
  };
}

/**
 * A signal to the whole process group (systemd, `timeout`) arrives twice: directly and through the launcher, which
 * forwards it.
 */
const ONE_REQUEST_MS = 80;

/**
 * Stops gracefully on the first SIGINT or SIGTERM; exits immediately on a later one. Returns a function that removes
 * the handlers.
 */
export function stopOnSignals(lifecycle: Lifecycle, exit: (code: number) => void = process.exit): () => void {
  let requestedAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    if (requestedAt !== undefined)
      return performance.now() - requestedAt < ONE_REQUEST_MS ? undefined : exit(signal === "SIGINT" ? 130 : 143);
    requestedAt = performance.now();
    void lifecycle.stop().then(() => exit(0));
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  return () => void process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
}
