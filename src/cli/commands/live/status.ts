import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { inputArgument, inputPath } from "../../live/input.ts";
import { statusLines, type LiveStatus } from "../../live/status.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const liveStatus = defineCommand({
  name: "live status",
  summary: "show the current broadcast: viewers and stream health",
  arguments: [inputArgument],
  options: serverOptions,
  examples: [["reelpost live status 66be…", "bitrate, key frames and problems"]],
  async run(values, [uid], surroundings) {
    const connection = await connect(values, surroundings);
    const status = await connection.api.result<LiveStatus>("GET", `${inputPath(connection, uid!)}/status`);
    printResult(surroundings, status, (paint) => statusLines(status, paint));
    return 0;
  },
});
