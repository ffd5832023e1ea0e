import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { inputArgument, outputPath } from "../../live/input.ts";
import type { Output } from "../../live/output.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const liveOutputsEnable = defineCommand({
  name: "live outputs enable",
  summary: "enable an output",
  arguments: [inputArgument, { name: "output", summary: "id of the output", required: true }],
  options: serverOptions,
  examples: [["reelpost live outputs enable 66be… baea…", "takes effect immediately if the input is live"]],
  async run(values, [uid, output], surroundings) {
    const connection = await connect(values, surroundings);
    const after = await connection.api.result<Output>("PUT", outputPath(connection, uid!, output!), {
      json: { enabled: true },
    });
    printResult(surroundings, after, () => [`${after.uid} is enabled`]);
    return 0;
  },
});
