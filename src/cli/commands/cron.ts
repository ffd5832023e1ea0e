import { type Command, defineCommand } from "../command.ts";
import { formatUtcTime, printResult, table } from "../print.ts";
import { workerOptions } from "../shared-options.ts";
import { connectWorker } from "../worker-of.ts";

const cronNext = defineCommand({
  name: "cron next",
  summary: "list the next runs of a worker's cron triggers",
  arguments: [{ name: "worker", summary: "name of the worker (default: from the configuration)" }],
  options: workerOptions,
  examples: [["reelpost cron next my-worker", "the next five runs of each expression"]],
  async run(values, [worker], context) {
    const { api, script } = await connectWorker(values, context, worker);
    const triggers = await api.result<{ cron: string; next: string[] }[]>("GET", `${script}/schedules/next`);
    printResult(context, triggers, (paint) =>
      triggers.length === 0
        ? ["No cron triggers."]
        : table(
            ["cron", "next runs (UTC)"],
            triggers.map(({ cron, next }) => [cron, next.map(formatUtcTime).join(", ")]),
            paint,
          ),
    );
    return 0;
  },
});

const cronRun = defineCommand({
  name: "cron run",
  summary: "run the scheduled handler of a worker now",
  arguments: [
    { name: "cron", summary: "cron expression that the handler receives", required: true },
    { name: "worker", summary: "name of the worker (default: from the configuration)" },
  ],
  options: workerOptions,
  examples: [['reelpost cron run "0 3 * * *" my-worker', "the exit code is 1 if the handler fails"]],
  async run(values, [cron, worker], context) {
    const { api, script, name } = await connectWorker(values, context, worker);
    const run = await api.result<{ cron: string; outcome: string | null; exception: string | null }>(
      "POST",
      `${script}/schedules/run`,
      { json: { cron }, timeoutMs: 60_000 },
    );
    printResult(context, run, () => [
      run.outcome === null
        ? `${name} is still running; \`reelpost tail ${name}\` prints its logs`
        : `${name} ended with ${run.outcome}${run.exception === null ? "" : `: ${run.exception}`}`,
    ]);
    return run.outcome === "ok" || run.outcome === null ? 0 : 1;
  },
});

export const cronCommands: readonly Command[] = [cronNext, cronRun];
