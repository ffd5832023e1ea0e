import type { EventReporter } from "./events.ts";
import type { DevWorkers } from "./workers.ts";

/** Reports AI bindings that are undefined because no AI server is configured. */
export function warnWithoutAi({
  workers,
  isOffered,
  report,
}: {
  workers: Pick<DevWorkers, "describe">;
  isOffered: boolean;
  report: EventReporter;
}): void {
  if (isOffered) return;
  for (const { name, config, bindings } of workers.describe())
    for (const binding of bindings.filter(({ type }) => type === "ai"))
      report({
        event: "warning",
        text: `${config}: "ai": no AI server is configured, so env.${binding.name} of ${name} is undefined\nfix: set REELPOST_WORKERS_AI_URL to the URL of an OpenAI-compatible server`,
      });
}
