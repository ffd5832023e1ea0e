import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { inputArgument, inputPath, type LiveInput } from "../../live/input.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const liveDisable = defineCommand({
  name: "live disable",
  summary: "disable a live input and end its broadcast",
  arguments: [inputArgument],
  options: serverOptions,
  examples: [["reelpost live disable 66be…", "until `reelpost live enable`"]],
  async run(values, [uid], surroundings) {
    const connection = await connect(values, surroundings);
    const input = await connection.api.result<LiveInput>("POST", `${inputPath(connection, uid!)}/disable`);
    printResult(surroundings, input, () => [`${input.uid} is disabled`]);
    return 0;
  },
});
