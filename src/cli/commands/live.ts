import { connectToApi } from "../api/connect.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { liveErrors } from "../live/errors.ts";
import { inputLines, type LiveInput, type ListedInput, inputArgument, inputPath, outputPath } from "../live/input.ts";
import { outputTable, type SimulcastOutput } from "../live/output.ts";
import { inputBody, inputOptions } from "../live/settings.ts";
import { statusLines, type LiveStatus, historyTable, type HistoryEntry } from "../live/status.ts";
import { webhookTable, type LiveWebhook } from "../live/webhook.ts";
import { printResult, formatTime, table } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";
import { lengthText, stateText, type Video } from "../stream/video.ts";

const liveCreate = defineCommand({
  name: "live create",
  summary: "create a live input, and show how to publish to it",
  description:
    "Publish with the URL and key of RTMPS or SRT, or with the WHIP URL, any number of times. With --recording automatic, each broadcast becomes a video.",
  options: {
    ...inputOptions,
    disabled: { type: "boolean", summary: "create the input disabled; enable it with `reelpost live enable`" },
    "idempotency-key": {
      type: "string",
      placeholder: "text",
      summary: "idempotency key: the same value creates no second input within six hours",
    },
    ...serverOptions,
  },
  examples: [
    ["reelpost live create --name Stage --recording automatic", "prints URL and key for OBS"],
    ["reelpost live create --recording automatic --json > input.json", "JSON output, for scripts"],
  ],
  async run({ disabled, "idempotency-key": key, url, token, account, ...settings }, _, context) {
    const { api, base } = await connectToApi({ url, token, account }, context);
    const json = { ...inputBody(settings), ...(disabled === true && { enabled: false }) };
    const input = await api.result<LiveInput>("POST", `${base}/stream/live_inputs`, {
      json,
      ...(key !== undefined && { headers: { "idempotency-key": key } }),
    });
    printResult(context, input, (paint) => inputLines(input, paint));
    return 0;
  },
});

const liveList = defineCommand({
  name: "live list",
  summary: "list live inputs, newest first",
  options: {
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 1000,
      summary: "maximum number of entries",
      defaultText: "100",
    },
    ...serverOptions,
  },
  examples: [["reelpost live list", "without keys, which `reelpost live show` prints"]],
  async run({ limit = 100, ...values }, _, context) {
    const { api, base } = await connectToApi(values, context);
    const { liveInputs, total = 0 } = await api.result<{ liveInputs: ListedInput[]; total?: number }>(
      "GET",
      `${base}/stream/live_inputs`,
      { query: { per_page: limit, include_counts: true } },
    );
    printResult(context, liveInputs, (paint) =>
      liveInputs.length === 0
        ? ["No live inputs."]
        : table(
            ["uid", "name", "enabled", "created"],
            liveInputs.map(({ uid, meta, enabled, created }) => [
              uid,
              meta["name"],
              enabled ? "yes" : "no",
              formatTime(created),
            ]),
            paint,
          ),
    );
    if (total > liveInputs.length && !context.json)
      context.stderr.line(`${liveInputs.length} of ${total} live inputs: use --limit to show more`);
    return 0;
  },
});

const liveShow = defineCommand({
  name: "live show",
  summary: "show a live input: keys and playback URLs",
  arguments: [inputArgument],
  options: serverOptions,
  examples: [["reelpost live show 66be…", "a uid from the list"]],
  async run(values, [uid], context) {
    const connection = await connectToApi(values, context);
    const input = await connection.api.result<LiveInput>("GET", inputPath(connection, uid!));
    printResult(context, input, (paint) => inputLines(input, paint));
    return 0;
  },
});

const liveUpdate = defineCommand({
  name: "live update",
  summary: "update a live input; omitted options keep their values",
  description: "Recording settings apply to later broadcasts.",
  arguments: [inputArgument],
  options: { ...inputOptions, ...serverOptions },
  examples: [
    ["reelpost live update 66be… --recording automatic --delete-after 45", "keeps each recording for 45 days"],
    ["reelpost live update 66be… --allowed-origin '*'", "allows all origins again"],
  ],
  async run({ url, token, account, ...settings }, [uid], context) {
    if (Object.keys(inputBody(settings)).length === 0) throw liveErrors.nothingToChange();
    const connection = await connectToApi({ url, token, account }, context);
    const path = inputPath(connection, uid!);
    // Preserves the other fields of `meta`.
    const { meta } = settings.name === undefined ? { meta: {} } : await connection.api.result<LiveInput>("GET", path);
    const input = await connection.api.result<LiveInput>("PUT", path, { json: inputBody(settings, meta) });
    printResult(context, input, (paint) => inputLines(input, paint));
    return 0;
  },
});

const liveDelete = defineCommand({
  name: "live delete",
  summary: "delete a live input; its recordings are kept",
  arguments: [inputArgument],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost live delete 66be… --yes", "in a script; ends a running broadcast"]],
  async run({ yes, ...values }, [uid], context) {
    const connection = await connectToApi(values, context);
    const path = inputPath(connection, uid!);
    await confirm(`Delete the live input ${uid!}?`, yes, context);
    await connection.api.result("DELETE", path);
    printResult(context, { uid, deleted: true }, () => [`Deleted ${uid!}`]);
    return 0;
  },
});

const liveEnable = defineCommand({
  name: "live enable",
  summary: "enable a live input",
  arguments: [inputArgument],
  options: serverOptions,
  examples: [["reelpost live enable 66be…", "the keys stay the same"]],
  async run(values, [uid], context) {
    const connection = await connectToApi(values, context);
    const input = await connection.api.result<LiveInput>("POST", `${inputPath(connection, uid!)}/enable`);
    printResult(context, input, () => [`Enabled ${input.uid}`]);
    return 0;
  },
});

const liveDisable = defineCommand({
  name: "live disable",
  summary: "disable a live input and end its broadcast",
  arguments: [inputArgument],
  options: serverOptions,
  examples: [["reelpost live disable 66be…", "until `reelpost live enable`"]],
  async run(values, [uid], context) {
    const connection = await connectToApi(values, context);
    const input = await connection.api.result<LiveInput>("POST", `${inputPath(connection, uid!)}/disable`);
    printResult(context, input, () => [`Disabled ${input.uid}`]);
    return 0;
  },
});

const liveRotateKeys = defineCommand({
  name: "live rotate-keys",
  summary: "rotate the keys of a live input; the old keys stop working",
  description: "Publishers and players with an old key are disconnected. The uid and the playback URLs do not change.",
  arguments: [inputArgument],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost live rotate-keys 66be…", "after a key was exposed"]],
  async run({ yes, ...values }, [uid], context) {
    const connection = await connectToApi(values, context);
    const path = inputPath(connection, uid!);
    await confirm(`Revoke the keys of ${uid!}? Broadcasts that use them end.`, yes, context);
    const input = await connection.api.result<LiveInput>("POST", `${path}/rotate_keys`);
    printResult(context, input, (paint) => inputLines(input, paint));
    return 0;
  },
});

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
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 500,
      summary: "maximum number of entries",
      defaultText: "50",
    },
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
              formatTime(one.at),
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
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 1000,
      summary: "maximum number of entries",
      defaultText: "100",
    },
    ...serverOptions,
  },
  examples: [["reelpost live videos 66be…", "for `reelpost stream get` and other video commands"]],
  async run({ limit = 100, ...values }, [uid], context) {
    const connection = await connectToApi(values, context);
    const videos = await connection.api.result<Video[]>("GET", `${inputPath(connection, uid!)}/videos`, {
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
              formatTime(video.created),
            ]),
            paint,
          ),
    );
    return 0;
  },
});

const liveOutputsList = defineCommand({
  name: "live outputs list",
  summary: "list the outputs of a live input with their status",
  description: "Keys are omitted; --json includes them.",
  arguments: [inputArgument],
  options: serverOptions,
  examples: [["reelpost live outputs list 66be…", "with the status of each output"]],
  async run(values, [uid], context) {
    const connection = await connectToApi(values, context);
    const outputs = await connection.api.result<SimulcastOutput[]>("GET", `${inputPath(connection, uid!)}/outputs`);
    printResult(context, outputs, (paint) => (outputs.length === 0 ? ["No outputs."] : outputTable(outputs, paint)));
    return 0;
  },
});

const liveOutputsCreate = defineCommand({
  name: "live outputs create",
  summary: "create an output: restream a live input to another RTMP or SRT server",
  description:
    "Pass the key with --key, or in the variable STREAM_KEY, which process lists do not show. For an SRT server it is the passphrase.",
  arguments: [inputArgument, { name: "to", summary: "URL of the server: rtmp:, rtmps: or srt:", required: true }],
  options: {
    key: { type: "string", placeholder: "text", summary: "the stream key", defaultText: "STREAM_KEY" },
    disabled: { type: "boolean", summary: "create the output disabled; enable it with `reelpost live outputs enable`" },
    ...serverOptions,
  },
  examples: [
    [
      "STREAM_KEY=uzya-f19y reelpost live outputs create 66be… rtmps://live.example.com/app",
      "at most 50 per live input",
    ],
  ],
  async run({ key, disabled, ...values }, [uid, to], context) {
    const connection = await connectToApi(values, context);
    const json = { url: to, streamKey: key ?? context.env["STREAM_KEY"] ?? "", enabled: disabled !== true };
    const output = await connection.api.result<SimulcastOutput>("POST", `${inputPath(connection, uid!)}/outputs`, {
      json,
    });
    printResult(context, output, (paint) => outputTable([output], paint));
    return 0;
  },
});

const liveOutputsEnable = defineCommand({
  name: "live outputs enable",
  summary: "enable an output",
  arguments: [inputArgument, { name: "output", summary: "id of the output", required: true }],
  options: serverOptions,
  examples: [["reelpost live outputs enable 66be… baea…", "takes effect immediately if the input is live"]],
  async run(values, [uid, output], context) {
    const connection = await connectToApi(values, context);
    const after = await connection.api.result<SimulcastOutput>("PUT", outputPath(connection, uid!, output!), {
      json: { enabled: true },
    });
    printResult(context, after, () => [`Enabled ${after.uid}`]);
    return 0;
  },
});

const liveOutputsDisable = defineCommand({
  name: "live outputs disable",
  summary: "disable an output",
  arguments: [inputArgument, { name: "output", summary: "id of the output", required: true }],
  options: serverOptions,
  examples: [["reelpost live outputs disable 66be… baea…", "stops the running restream"]],
  async run(values, [uid, output], context) {
    const connection = await connectToApi(values, context);
    const after = await connection.api.result<SimulcastOutput>("PUT", outputPath(connection, uid!, output!), {
      json: { enabled: false },
    });
    printResult(context, after, () => [`Disabled ${after.uid}`]);
    return 0;
  },
});

const liveOutputsDelete = defineCommand({
  name: "live outputs delete",
  summary: "delete an output and stop restreaming",
  arguments: [inputArgument, { name: "output", summary: "id of the output", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost live outputs delete 66be… baea… --yes", "in a script"]],
  async run({ yes, ...values }, [uid, output], context) {
    const connection = await connectToApi(values, context);
    const path = outputPath(connection, uid!, output!);
    await confirm(`Delete the output ${output!}?`, yes, context);
    await connection.api.result("DELETE", path);
    printResult(context, { uid: output, deleted: true }, () => [`Deleted ${output!}`]);
    return 0;
  },
});

const liveWebhooksList = defineCommand({
  name: "live webhooks list",
  summary: "list live input webhooks",
  options: serverOptions,
  examples: [["reelpost live webhooks list", "then `reelpost stream webhook deliveries --endpoint <id>`"]],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    const webhooks = (await api.result<LiveWebhook[]>("GET", `${base}/stream/webhook/endpoints`)).filter(({ topics }) =>
      topics.includes("live"),
    );
    printResult(context, webhooks, (paint) =>
      webhooks.length === 0 ? ["No webhooks of live inputs."] : webhookTable(webhooks, paint),
    );
    return 0;
  },
});

const liveWebhooksCreate = defineCommand({
  name: "live webhooks create",
  summary: "create a webhook for live inputs that connect, disconnect or fail",
  description:
    "Sends a JSON notification for each event, signed with the secret in Webhook-Signature. Failed deliveries are retried for a day.",
  arguments: [{ name: "url", summary: "http or https URL", required: true }],
  options: {
    input: {
      type: "string",
      placeholder: "uid",
      multiple: true,
      summary: "only for this live input",
      defaultText: "all",
    },
    ...serverOptions,
  },
  examples: [["reelpost live webhooks create https://example.com/live", "prints the secret"]],
  async run({ input, ...values }, [url], context) {
    const { api, base } = await connectToApi(values, context);
    const webhook = await api.result<LiveWebhook>("POST", `${base}/stream/webhook/endpoints`, {
      json: { notificationUrl: url, topics: ["live"], liveInputs: input },
    });
    printResult(context, webhook, (paint) => webhookTable([webhook], paint));
    return 0;
  },
});

const liveWebhooksDelete = defineCommand({
  name: "live webhooks delete",
  summary: "delete a live input webhook and its log",
  arguments: [{ name: "id", summary: "id of the webhook", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost live webhooks delete 7c1f… --yes", "in a script"]],
  async run({ yes, ...values }, [id], context) {
    const { api, base } = await connectToApi(values, context);
    const path = `${base}/stream/webhook/endpoints${at`/${id!}`}`;
    await confirm(`Delete the webhook ${id!}?`, yes, context);
    await api.result("DELETE", path);
    printResult(context, { id, deleted: true }, () => [`Deleted ${id!}`]);
    return 0;
  },
});

export const liveCommands: readonly Command[] = [
  liveCreate,
  liveList,
  liveShow,
  liveUpdate,
  liveDelete,
  liveEnable,
  liveDisable,
  liveRotateKeys,
  liveStatus,
  liveHistory,
  liveMetrics,
  liveDisconnect,
  liveVideos,
  liveOutputsList,
  liveOutputsCreate,
  liveOutputsEnable,
  liveOutputsDisable,
  liveOutputsDelete,
  liveWebhooksList,
  liveWebhooksCreate,
  liveWebhooksDelete,
];
