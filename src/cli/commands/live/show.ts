import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { inputArgument, inputLines, inputPath, type LiveInput } from "../../live/input.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const liveShow = defineCommand({
  name: "live show",
  summary: "show a live input: keys and playback URLs",
  arguments: [inputArgument],
  options: serverOptions,
  examples: [["reelpost live show 66be…", "a uid from the list"]],
  async run(values, [uid], surroundings) {
    const connection = await connect(values, surroundings);
    const input = await connection.api.result<LiveInput>("GET", inputPath(connection, uid!));
    printResult(surroundings, input, (paint) => inputLines(input, paint));
    return 0;
  },
});
