import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { inputArgument, inputPath } from "../../live/input.ts";
import { historyTable, type HistoryEntry } from "../../live/status.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const liveHistory = defineCommand({
  name: "live history",
  summary: "list the history of a live input, newest first",
  description: "The last 500 entries are kept.",
  arguments: [inputArgument],
  options: {
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 500,
      summary: "maximum number of entries",
      defaultText: "50",
    },
    ...serverOptions,
  },
  examples: [["reelpost live history 66be…", "connections and errors"]],
  async run({ limit = 50, ...values }, [uid], surroundings) {
    const connection = await connect(values, surroundings);
    const entries = await connection.api.result<HistoryEntry[]>("GET", `${inputPath(connection, uid!)}/history`, {
      query: { per_page: limit },
    });
    printResult(surroundings, entries, (paint) => (entries.length === 0 ? ["Nothing."] : historyTable(entries, paint)));
    return 0;
  },
});
