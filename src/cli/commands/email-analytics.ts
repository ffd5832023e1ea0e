import { connectToApi } from "../api/connect.ts";
import { defineCommand, type Command } from "../command.ts";
import { nameValueLines, printResult } from "../print.ts";
import { serverOptions, statisticsPeriodOptions } from "../shared-options.ts";
import { parseTimeOption } from "../time-option.ts";

type Figures = Record<string, number>;

const emailAnalytics = defineCommand({
  name: "email analytics",
  summary: "count received, forwarded, rejected, sent and bounced messages",
  options: {
    ...statisticsPeriodOptions("messages", "1d"),
    ...serverOptions,
  },
  examples: [["reelpost email analytics --since 7d --json", "with the metrics of each day and zone"]],
  async run({ since = "1d", until, ...values }, _, context) {
    const now = context.clock.now();
    const query = {
      since: parseTimeOption("--since", since, now),
      until: until === undefined ? undefined : parseTimeOption("--until", until, now),
      time_delta: "day",
    };
    const { api, base } = await connectToApi(values, context);
    const result = await api.result<{ totals: Figures }>("GET", `${base}/email/analytics`, { query });
    const of = (name: string) => String(result.totals[name] ?? 0);
    printResult(context, result, (paint) =>
      nameValueLines(
        [
          ["received", of("received")],
          ["  forwarded", of("forwarded")],
          ["  handled by workers", of("handled")],
          ["  rejected", of("rejected")],
          ["  dropped", of("dropped")],
          ["  failed", of("failed")],
          ["  pending", of("pending")],
          ["sent", of("sent")],
          ["  delivered", of("delivered")],
          ["  bounced", of("bounced")],
          ["  rejected", of("sendingRejected")],
          ["  pending", of("sendingPending")],
        ],
        paint,
      ),
    );
    return 0;
  },
});

export const emailAnalyticsCommands: readonly Command[] = [emailAnalytics];
