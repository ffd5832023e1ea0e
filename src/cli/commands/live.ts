import { connectToApi } from "../api/connect.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { liveErrors } from "../live/errors.ts";
import { inputLines, type ApiLiveInput, type ListedInput, inputArgument, inputPath } from "../live/input.ts";
import { inputBody, inputOptions } from "../live/settings.ts";
import { printResult, formatUtcTime, table } from "../print.ts";
import { limitOption, serverOptions, yesOption } from "../shared-options.ts";
import { liveBroadcastCommands } from "./live-broadcasts.ts";
import { liveOutputCommands } from "./live-outputs.ts";
import { liveWebhookCommands } from "./live-webhooks.ts";

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
    const input = await api.result<ApiLiveInput>("POST", `${base}/stream/live_inputs`, {
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
    ...limitOption(1000, 100),
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
              formatUtcTime(created),
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
    const input = await connection.api.result<ApiLiveInput>("GET", inputPath(connection, uid!));
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
    const { meta } =
      settings.name === undefined ? { meta: {} } : await connection.api.result<ApiLiveInput>("GET", path);
    const input = await connection.api.result<ApiLiveInput>("PUT", path, { json: inputBody(settings, meta) });
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
    const input = await connection.api.result<ApiLiveInput>("POST", `${inputPath(connection, uid!)}/enable`);
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
    const input = await connection.api.result<ApiLiveInput>("POST", `${inputPath(connection, uid!)}/disable`);
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
    const input = await connection.api.result<ApiLiveInput>("POST", `${path}/rotate_keys`);
    printResult(context, input, (paint) => inputLines(input, paint));
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
  ...liveBroadcastCommands,
  ...liveOutputCommands,
  ...liveWebhookCommands,
];
