import { connectToApi } from "../api/connect.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { inputArgument, inputPath, outputPath } from "../live/input.ts";
import { outputTable, type SimulcastOutput } from "../live/output.ts";
import { printResult } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";

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

export const liveOutputCommands: readonly Command[] = [
  liveOutputsList,
  liveOutputsCreate,
  liveOutputsEnable,
  liveOutputsDisable,
  liveOutputsDelete,
];
