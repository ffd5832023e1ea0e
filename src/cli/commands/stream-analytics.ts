import { connectToApi } from "../api/connect.ts";
import { defineCommand, type Command } from "../command.ts";
import { nameValueLines, formatUtcTime, printResult, table } from "../print.ts";
import { serverOptions, statisticsPeriodOptions } from "../shared-options.ts";
import { parseTimeOption } from "../time-option.ts";

interface Summary {
  views: number;
  minutesViewed: number;
  peakViewers: number;
  peakAt: string | null;
}

interface Top {
  items: { value: string; views: number; minutesViewed: number }[];
  other: { views: number; minutesViewed: number };
}

const DIMENSIONS = ["video", "live_input", "creator", "country", "browser", "os", "device", "referrer"];

const streamAnalytics = defineCommand({
  name: "stream analytics",
  summary: "show views, minutes viewed and the peak of viewers",
  description: `A view begins when a viewer gets a segment of a video after 30 minutes without one. Minutes are the durations of the segments sent. The peak is the highest number of viewers in one minute.`,
  arguments: [{ name: "video", summary: "uid of a video (default: the whole account)" }],
  options: {
    by: {
      type: "string",
      placeholder: "property",
      choices: DIMENSIONS,
      summary: "rank the values of this property",
    },
    "live-input": { type: "string", placeholder: "uid", summary: "only broadcasts and recordings of this live input" },
    creator: { type: "string", placeholder: "text", summary: "only videos of this creator" },
    limit: {
      type: "string",
      placeholder: "number",
      summary: "maximum number of values in the ranking",
      defaultText: "10",
    },
    ...statisticsPeriodOptions("views", "1d"),
    ...serverOptions,
  },
  examples: [
    ["reelpost stream analytics --since 7d --by video", "the most viewed videos of the week"],
    ["reelpost stream analytics 5f0b0c7e0ca84d7ba7b6d8a0e8e9d3c1 --by country", "the countries of its viewers"],
  ],
  async run({ by, "live-input": input, creator, limit = "10", since = "1d", until, ...values }, [video], context) {
    const now = context.clock.now();
    const query = {
      since: parseTimeOption("--since", since, now),
      until: until === undefined ? undefined : parseTimeOption("--until", until, now),
      uid: video,
      live_input: input,
      creator,
    };
    const { api, base } = await connectToApi(values, context);
    const path = `${base}/stream/analytics`;
    const [summary, top] = await Promise.all([
      api.result<Summary>("GET", path, { query }),
      by === undefined ? undefined : api.result<Top>("GET", `${path}/top`, { query: { ...query, by, limit } }),
    ]);
    printResult(context, { ...summary, ...(top !== undefined && { top }) }, (paint) => [
      ...nameValueLines(
        [
          ["views", String(summary.views)],
          ["watched", `${minutes(summary.minutesViewed)} min since ${query.since.slice(0, 10)}`],
          [
            "peak",
            `${summary.peakViewers} viewers${summary.peakAt === null ? "" : `, in the period from ${formatUtcTime(summary.peakAt)}`}`,
          ],
        ],
        paint,
      ),
      ...(top === undefined
        ? []
        : [
            "",
            ...table(
              [by!.replace("_", " "), "views", "minutes"],
              [
                ...top.items.map((item) => [item.value || "(unknown)", item.views, minutes(item.minutesViewed)]),
                ...(top.other.views + top.other.minutesViewed > 0
                  ? [["(other)", top.other.views, minutes(top.other.minutesViewed)]]
                  : []),
              ],
              paint,
            ),
          ]),
    ]);
    return 0;
  },
});

const minutes = (count: number) => Number(count.toFixed(2));

export const streamAnalyticsCommands: readonly Command[] = [streamAnalytics];
