import { connect } from "../../api/connect.ts";
import { at } from "../../api/paths.ts";
import { confirm } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions, yesOption } from "../../shared-options.ts";
import { videoArgument, videoPath } from "../../stream/video.ts";

export const streamCaptionsDelete = defineCommand({
  name: "stream captions delete",
  summary: "delete the captions of a video in a language",
  arguments: [videoArgument, { name: "language", summary: "language tag as listed", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost stream captions delete 91ab… de --yes", "in a script"]],
  async run({ yes, ...values }, [uid, language], surroundings) {
    const connection = await connect(values, surroundings);
    const path = `${videoPath(connection, uid!)}/captions${at`/${language!}`}`;
    await confirm(`Delete the captions of ${uid!} in ${language!}?`, yes, surroundings);
    await connection.api.result("DELETE", path);
    printResult(surroundings, { uid, language, deleted: true }, () => [`The captions in ${language!} are deleted`]);
    return 0;
  },
});
