import { connectToApi } from "../api/connect.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { inputArgument, inputPath } from "../live/input.ts";
import { statusLines, type LiveStatus, historyTable, type HistoryEntry } from "../live/status.ts";
import { printResult, formatUtcTime, table } from "../print.ts";
import { limitOption, serverOptions, yesOption } from "../shared-options.ts";
import { lengthText, stateText, type ApiVideo } from "../stream/video.ts";

const liveStatus = defineCommand({
  name: "live status",
  summary: "show the current broadcast: viewers and stream health",
  arguments: [inputArgument],
  options: serverOptions,
  examples: [["reelpost live status 66be…", "bitrate, key frames and problems"]],
  async run(values, [uid], context) {
    const connection = await connectToApi(values, context);
    const status = await connection.api.result<LiveStatus>("GET", `${inputPath(connection, uid!)}/status`);
    printResult(context, status, (paint) => statusLines(status, paint));
    return 0;
  },
});

const liveHistory = defineCommand({
  name: "live history",
  summary: "list the history of a live input, newest first",
  description: "The last 500 entries are kept.",
  arguments: [inputArgument],
  options: {
    ...limitOption(500, 50),
    ...serverOptions,
  },
  examples: [["reelpost live history 66be…", "connections and errors"]],
  async run({ limit = 50, ...values }, [uid], context) {
    const connection = await connectToApi(values, context);
    const entries = await connection.api.result<HistoryEntry[]>("GET", `${inputPath(connection, uid!)}/history`, {
      query: { per_page: limit },
    });
    printResult(context, entries, (paint) => (entries.length === 0 ? ["No events."] : historyTable(entries, paint)));
    return 0;
  },
});

interface Metrics {
  samples: {
    at: string;
    videoBitrate: number;
    audioBitrate: number;
    frameRate: number;
    keyFrameInterval: number;
    lost: number;
    viewers: number | null;
  }[];
  warnings: string[];
}

const kilobits = (bits: number) => Math.round(bits / 1000);

const liveMetrics = defineCommand({
  name: "live metrics",
  summary: "show measurements of a broadcast, and warnings about it",
  arguments: [inputArgument],
  options: {
    minutes: { type: "number", placeholder: "number", min: 1, max: 60, summary: "minutes", defaultText: "10" },
    ...serverOptions,
  },
  examples: [["reelpost live metrics 66be… --minutes 2", "bitrate, frame rate and viewers, every five seconds"]],
  async run({ minutes, ...values }, [uid], context) {
    const connection = await connectToApi(values, context);
    const metrics = await connection.api.result<Metrics>("GET", `${inputPath(connection, uid!)}/metrics`, {
      query: { minutes },
    });
    printResult(context, metrics, (paint) => [
      ...metrics.warnings,
      ...(metrics.samples.length === 0
        ? ["No measurements."]
        : table(
            ["time (UTC)", "video kbit/s", "audio kbit/s", "frames/s", "key frames s", "lost", "viewers"],
            metrics.samples.map((one) => [
              formatUtcTime(one.at),
              kilobits(one.videoBitrate),
              kilobits(one.audioBitrate),
              Math.round(one.frameRate * 10) / 10,
              Math.round(one.keyFrameInterval * 10) / 10,
              one.lost,
              one.viewers,
            ]),
            paint,
          )),
    ]);
    return 0;
  },
});

const liveDisconnect = defineCommand({
  name: "live disconnect",
  summary: "disconnect the publisher of a live input; it may connect again",
  arguments: [inputArgument],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost live disconnect 66be… --yes", "`reelpost live disable` rejects publishers"]],
  async run({ yes, ...values }, [uid], context) {
    const connection = await connectToApi(values, context);
    const path = inputPath(connection, uid!);
    await confirm(`Disconnect the publisher of ${uid!}?`, yes, context);
    await connection.api.result("POST", `${path}/disconnect`);
    printResult(context, { uid, disconnected: true }, () => [`Disconnected the publisher of ${uid!}`]);
    return 0;
  },
});

const liveVideos = defineCommand({
  name: "live videos",
  summary: "list the recordings of a live input, newest first",
  arguments: [inputArgument],
  options: {
    ...limitOption(1000, 100),
    ...serverOptions,
  },
  examples: [["reelpost live videos 66be…", "for `reelpost stream get` and other video commands"]],
  async run({ limit = 100, ...values }, [uid], context) {
    const connection = await connectToApi(values, context);
    const videos = await connection.api.result<ApiVideo[]>("GET", `${inputPath(connection, uid!)}/videos`, {
      query: { per_page: limit },
    });
    printResult(context, videos, (paint) =>
      videos.length === 0
        ? ["No recordings."]
        : table(
            ["uid", "name", "state", "duration", "created"],
            videos.map((video) => [
              video.uid,
              video.meta["name"],
              stateText(video),
              lengthText(video),
              formatUtcTime(video.created),
            ]),
            paint,
          ),
    );
    return 0;
  },
});

export const liveBroadcastCommands: readonly Command[] = [
  liveStatus,
  liveHistory,
  liveMetrics,
  liveDisconnect,
  liveVideos,
];
