import { connect } from "../../api/connect.ts";
import { confirm } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions, yesOption } from "../../shared-options.ts";
import { videoArgument, videoPath } from "../../stream/video.ts";

export const streamDelete = defineCommand({
  name: "stream delete",
  summary: "delete a video and all its files",
  arguments: [videoArgument],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost stream delete 91ab… --yes", "in a script"]],
  async run({ yes, ...values }, [uid], surroundings) {
    const connection = await connect(values, surroundings);
    const path = videoPath(connection, uid!);
    await confirm(`Delete the video ${uid!}?`, yes, surroundings);
    // Its answer has no body.
    const response = await connection.api.raw("DELETE", path);
    await response.body?.cancel();
    printResult(surroundings, { uid, deleted: true }, () => [`${uid!} is deleted`]);
    return 0;
  },
});
