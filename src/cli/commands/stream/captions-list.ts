import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { printResult, table } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";
import { videoArgument, videoPath } from "../../stream/video.ts";

interface Caption {
  language: string;
  label: string;
  generated: boolean;
  status: string;
}

export const streamCaptionsList = defineCommand({
  name: "stream captions list",
  summary: "list the captions of a video",
  arguments: [videoArgument],
  options: serverOptions,
  examples: [["reelpost stream captions list 91ab…", "languages and states"]],
  async run(values, [uid], surroundings) {
    const connection = await connect(values, surroundings);
    const captions = await connection.api.result<Caption[]>("GET", `${videoPath(connection, uid!)}/captions`);
    printResult(surroundings, captions, (paint) =>
      captions.length === 0
        ? ["No captions."]
        : table(
            ["language", "label", "generated", "status"],
            captions.map(({ language, label, generated, status }) => [
              language,
              label,
              generated ? "yes" : "no",
              status,
            ]),
            paint,
          ),
    );
    return 0;
  },
});
