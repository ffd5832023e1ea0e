import type { Basics } from "../kernel/index.ts";
import { type WorkerRuntime } from "../workers/index.ts";
import { createTailConsumers } from "../workers/local/index.ts";
import type { EventReporter } from "./events.ts";
import type { DevWorkers } from "./workers.ts";

interface DevTailWorkersDeps {
  workers: Pick<DevWorkers, "names" | "tailConsumersOf">;
  runtime: WorkerRuntime;
  report: EventReporter;
}

/**
 * Delivers trace items of local workers to their tail workers. Reports a tail worker that is not running only once.
 */
export function runDevTailWorkers(
  { workers, runtime, report }: DevTailWorkersDeps,
  { clock, log, lifecycle }: Pick<Basics, "clock" | "log" | "lifecycle">,
): void {
  const reportedNames = new Set<string>();

  function consumersOf({ script }: { script: string }): string[] {
    return workers.tailConsumersOf(script).filter((name) => {
      if (workers.names.includes(name)) return true;
      if (!reportedNames.has(name))
        report({
          event: "warning",
          text: `the tail worker ${name} of ${script} is not running\nfix: add --config with its configuration file`,
        });
      reportedNames.add(name);
      return false;
    });
  }

  const consumers = createTailConsumers({
    consumersOf,
    deliver: ({ script }, batch) => runtime.tail(script, batch),
    clock,
    log,
  });
  const stopWatching = consumers.watch(runtime);
  lifecycle.onStop("tail workers", async () => {
    stopWatching();
    await consumers.close();
  });
}
