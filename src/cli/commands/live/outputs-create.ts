import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { inputArgument, inputPath } from "../../live/input.ts";
import { outputTable, type Output } from "../../live/output.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const liveOutputsCreate = defineCommand({
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
  async run({ key, disabled, ...values }, [uid, to], surroundings) {
    const connection = await connect(values, surroundings);
    const json = { url: to, streamKey: key ?? surroundings.env["STREAM_KEY"] ?? "", enabled: disabled !== true };
    const output = await connection.api.result<Output>("POST", `${inputPath(connection, uid!)}/outputs`, { json });
    printResult(surroundings, output, (paint) => outputTable([output], paint));
    return 0;
  },
});
