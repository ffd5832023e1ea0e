import { connect } from "../../api/connect.ts";
import { confirm } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { inputArgument, inputLines, inputPath, type LiveInput } from "../../live/input.ts";
import { printResult } from "../../print.ts";
import { serverOptions, yesOption } from "../../shared-options.ts";

export const liveRotateKeys = defineCommand({
  name: "live rotate-keys",
  summary: "rotate the keys of a live input; the old keys stop working",
  description: "Publishers and players with an old key are disconnected. The uid and the playback URLs stay.",
  arguments: [inputArgument],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost live rotate-keys 66be…", "after a key was exposed"]],
  async run({ yes, ...values }, [uid], surroundings) {
    const connection = await connect(values, surroundings);
    const path = inputPath(connection, uid!);
    await confirm(`Revoke the keys of ${uid!}? Broadcasts that use them end.`, yes, surroundings);
    const input = await connection.api.result<LiveInput>("POST", `${path}/rotate_keys`);
    printResult(surroundings, input, (paint) => inputLines(input, paint));
    return 0;
  },
});
