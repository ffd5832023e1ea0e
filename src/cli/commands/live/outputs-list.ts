import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { inputArgument, inputPath } from "../../live/input.ts";
import { outputTable, type Output } from "../../live/output.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const liveOutputsList = defineCommand({
  name: "live outputs list",
  summary: "list the outputs of a live input with their status",
  description: "Keys are omitted; --json includes them.",
  arguments: [inputArgument],
  options: serverOptions,
  examples: [["reelpost live outputs list 66be…", "with the status of each output"]],
  async run(values, [uid], surroundings) {
    const connection = await connect(values, surroundings);
    const outputs = await connection.api.result<Output[]>("GET", `${inputPath(connection, uid!)}/outputs`);
    printResult(surroundings, outputs, (paint) =>
      outputs.length === 0 ? ["No outputs."] : outputTable(outputs, paint),
    );
    return 0;
  },
});
