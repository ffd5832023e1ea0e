import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { facts, printResult } from "../../print.ts";
import { readMoment } from "../../read-moment.ts";
import { serverOptions } from "../../shared-options.ts";

interface Storage {
  totalStorageMinutes: number;
  totalStorageMinutesLimit: number;
  videoCount: number;
}

/** The API's value for "no limit". */
const UNLIMITED = 1_000_000_000;

export const streamUsage = defineCommand({
  name: "stream usage",
  summary: "show the stored and viewed minutes of video",
  options: {
    creator: {
      type: "string",
      placeholder: "text",
      summary: "storage of this creator only; omits viewed minutes",
    },
    since: {
      type: "string",
      placeholder: "time",
      summary: "viewed after, such as 7d or 2026-11-01",
      defaultText: "30d",
    },
    until: { type: "string", placeholder: "time", summary: "viewed before", defaultText: "now" },
    ...serverOptions,
  },
  examples: [["reelpost stream usage --since 7d", "this week"]],
  async run({ creator, since = "30d", until = "0s", ...values }, _, surroundings) {
    const now = surroundings.clock.now();
    const period = { since: readMoment("--since", since, now), until: readMoment("--until", until, now) };
    const { api, base } = await connect(values, surroundings);
    const storage = await api.result<Storage>("GET", `${base}/stream/storage-usage`, { query: { creator } });
    const days =
      creator === undefined
        ? await api.result<{ streamMinutesViewed: number }[]>("GET", `${base}/stream/usage`, {
            query: { ...period, time_delta: "day", limit: 10_000 },
          })
        : undefined;
    const watched = days?.reduce((sum, { streamMinutesViewed }) => sum + streamMinutesViewed, 0);
    const { totalStorageMinutes: kept, totalStorageMinutesLimit: limit, videoCount } = storage;
    printResult(
      surroundings,
      { ...storage, ...(watched !== undefined && { minutesViewed: watched, ...period }) },
      (paint) =>
        facts(
          [
            ["videos", String(videoCount)],
            ["kept", `${minutes(kept)} min${limit >= UNLIMITED ? "" : ` of ${limit}`}`],
            [
              "watched",
              watched === undefined ? undefined : `${minutes(watched)} min since ${period.since.slice(0, 10)}`,
            ],
          ],
          paint,
        ),
    );
    return 0;
  },
});

const minutes = (count: number) => Number(count.toFixed(2));
