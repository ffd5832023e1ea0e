import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { inputArgument, inputPath, type LiveInput } from "../../live/input.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const liveEnable = defineCommand({
  name: "live enable",
  summary: "enable a live input",
  arguments: [inputArgument],
  options: serverOptions,
  examples: [["reelpost live enable 66be…", "the keys stay the same"]],
  async run(values, [uid], surroundings) {
    const connection = await connect(values, surroundings);
    const input = await connection.api.result<LiveInput>("POST", `${inputPath(connection, uid!)}/enable`);
    printResult(surroundings, input, () => [`${input.uid} is enabled`]);
    return 0;
  },
});
