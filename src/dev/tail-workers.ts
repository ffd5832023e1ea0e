import type { Basics } from "../kernel/index.ts";
import { createTailConsumers, type WorkerRuntime } from "../workers/index.ts";
import type { EventReporter } from "./events.ts";
import type { DevWorkers } from "./workers.ts";

interface DevTailWorkersDeps {
  workers: Pick<DevWorkers, "names" | "tailConsumersOf">;
  runtime: WorkerRuntime;
  report: EventReporter;
}

/**
 * Delivers the trace items of local workers to their tail workers. A tail worker that this server does not run is
 * reported once.
 */
export function runDevTailWorkers(
  { workers, runtime, report }: DevTailWorkersDeps,
  { clock, log, lifecycle }: Pick<Basics, "clock" | "log" | "lifecycle">,
): void {
  const reported = new Set<string>();

  function consumersOf({ script }: { script: string }): string[] {
    return workers.tailConsumersOf(script).filter((name) => {
      if (workers.names.includes(name)) return true;
      if (!reported.has(name))
        report({
          event: "warning",
          text: `the tail worker ${name} of ${script} does not run\nfix: start it too with another --config`,
        });
      reported.add(name);
      return false;
    });
  }

  const consumers = createTailConsumers({
    consumersOf,
    deliver: ({ script }, batch) => runtime.tail(script, batch),
    clock,
    log,
  });
  const unwatch = consumers.watch(runtime);
  lifecycle.onStop("tail workers", async () => {
    unwatch();
    await consumers.close();
  });
}
