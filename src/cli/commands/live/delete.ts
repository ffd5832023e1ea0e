import { connect } from "../../api/connect.ts";
import { confirm } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { inputArgument, inputPath } from "../../live/input.ts";
import { printResult } from "../../print.ts";
import { serverOptions, yesOption } from "../../shared-options.ts";

export const liveDelete = defineCommand({
  name: "live delete",
  summary: "delete a live input; its recordings are kept",
  arguments: [inputArgument],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost live delete 66be… --yes", "in a script; ends a running broadcast"]],
  async run({ yes, ...values }, [uid], surroundings) {
    const connection = await connect(values, surroundings);
    const path = inputPath(connection, uid!);
    await confirm(`Delete the live input ${uid!}?`, yes, surroundings);
    await connection.api.result("DELETE", path);
    printResult(surroundings, { uid, deleted: true }, () => [`${uid!} is deleted`]);
    return 0;
  },
});
