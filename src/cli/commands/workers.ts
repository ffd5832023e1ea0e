import { refusal } from "../api/errors.ts";
import { connectToApi } from "../api/connect.ts";
import { defineCommand, type Command } from "../command.ts";
import { printResult, table } from "../print.ts";
import { serverOptions, statisticsPeriodOptions } from "../shared-options.ts";
import { parseTimeOption } from "../time-option.ts";

interface Group {
  dimensions: { scriptName: string; scriptVersion?: string };
  sum: { requests: number; errors: number; subrequests: number };
  quantiles: Record<"cpuTimeP50" | "cpuTimeP99" | "wallTimeP50" | "wallTimeP99", number | null>;
}

const workersMetrics = defineCommand({
  name: "workers metrics",
  summary: "show requests, errors, CPU time and duration of deployed workers",
  description: `CPU time is measured per process four times per second and divided among the invocations of that time.`,
  arguments: [{ name: "worker", summary: "only this worker, by version (default: all workers)" }],
  options: {
    ...statisticsPeriodOptions("invocations", "1d"),
    ...serverOptions,
  },
  examples: [
    ["reelpost workers metrics", "every worker, in the last day"],
    ["reelpost workers metrics my-worker --since 1h", "each version of one worker"],
  ],
  async run({ since = "1d", until = "0s", ...values }, [worker], context) {
    const now = context.clock.now();
    const { api, base } = await connectToApi(values, context);
    const filter = {
      datetime_geq: parseTimeOption("--since", since, now),
      datetime_leq: parseTimeOption("--until", until, now),
      ...(worker !== undefined && { scriptName: worker }),
    };
    const response = await api.raw("POST", "/graphql", {
      json: {
        query: queryOf(worker === undefined ? "scriptName" : "scriptName scriptVersion"),
        variables: { accountTag: base.split("/").at(-1), filter },
      },
    });
    const { data, errors } = (await response.json()) as {
      data: { viewer: { accounts: { workersInvocationsAdaptive: Group[] }[] } } | null;
      errors: { message: string }[] | null;
    };
    if (data === null)
      throw refusal(
        (errors ?? []).map((error) => ({ code: 0, ...error })),
        response.status,
      );
    const groups = data.viewer.accounts[0]?.workersInvocationsAdaptive ?? [];
    printResult(context, groups, (paint) =>
      table(
        ["worker", ...(worker === undefined ? [] : ["version"]), "requests", "errors", "subrequests", "CPU p50", "CPU p99", "duration p50", "p99"], // prettier-ignore
        groups.map(({ dimensions, sum, quantiles }) => [
          dimensions.scriptName,
          ...(worker === undefined ? [] : [dimensions.scriptVersion]),
          sum.requests,
          sum.errors,
          sum.subrequests,
          milliseconds(quantiles.cpuTimeP50),
          milliseconds(quantiles.cpuTimeP99),
          milliseconds(quantiles.wallTimeP50),
          milliseconds(quantiles.wallTimeP99),
        ]),
        paint,
      ),
    );
    return 0;
  },
});

const queryOf = (dimensions: string) =>
  `query ($accountTag: string!, $filter: AccountWorkersInvocationsAdaptiveFilter_InputObject) {
    viewer { accounts(filter: { accountTag: $accountTag }) {
      workersInvocationsAdaptive(filter: $filter, limit: 1000, orderBy: [sum_requests_DESC]) {
        dimensions { ${dimensions} }
        sum { requests errors subrequests }
        quantiles { cpuTimeP50 cpuTimeP99 wallTimeP50 wallTimeP99 }
      }
    } }
  }`;

const milliseconds = (us: number | null) => (us === null ? "" : `${Number((us / 1000).toFixed(2))} ms`);

export const workersCommands: readonly Command[] = [workersMetrics];
