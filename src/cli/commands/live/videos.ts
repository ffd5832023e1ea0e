import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { inputArgument, inputPath } from "../../live/input.ts";
import { moment, printResult, table } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";
import { lengthText, stateText, type Video } from "../../stream/video.ts";

export const liveVideos = defineCommand({
  name: "live videos",
  summary: "list the recordings of a live input, newest first",
  arguments: [inputArgument],
  options: {
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 1000,
      summary: "maximum number of entries",
      defaultText: "100",
    },
    ...serverOptions,
  },
  examples: [["reelpost live videos 66be…", "for `reelpost stream get` and other video commands"]],
  async run({ limit = 100, ...values }, [uid], surroundings) {
    const connection = await connect(values, surroundings);
    const videos = await connection.api.result<Video[]>("GET", `${inputPath(connection, uid!)}/videos`, {
      query: { per_page: limit },
    });
    printResult(surroundings, videos, (paint) =>
      videos.length === 0
        ? ["No recordings."]
        : table(
            ["uid", "name", "state", "duration", "created"],
            videos.map((video) => [
              video.uid,
              video.meta["name"],
              stateText(video),
              lengthText(video),
              moment(video.created),
            ]),
            paint,
          ),
    );
    return 0;
  },
});
