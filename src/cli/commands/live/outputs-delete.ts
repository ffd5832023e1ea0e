import { connect } from "../../api/connect.ts";
import { confirm } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { inputArgument, outputPath } from "../../live/input.ts";
import { printResult } from "../../print.ts";
import { serverOptions, yesOption } from "../../shared-options.ts";

export const liveOutputsDelete = defineCommand({
  name: "live outputs delete",
  summary: "delete an output and stop restreaming",
  arguments: [inputArgument, { name: "output", summary: "id of the output", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost live outputs delete 66be… baea… --yes", "in a script"]],
  async run({ yes, ...values }, [uid, output], surroundings) {
    const connection = await connect(values, surroundings);
    const path = outputPath(connection, uid!, output!);
    await confirm(`Delete the output ${output!}?`, yes, surroundings);
    await connection.api.result("DELETE", path);
    printResult(surroundings, { uid: output, deleted: true }, () => [`${output!} is deleted`]);
    return 0;
  },
});
