import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";
import { aboutOptions, fieldsOf } from "../../stream/about.ts";
import { uploadedLines, type Video } from "../../stream/video.ts";
import { waitOption, waitUntilPlayable } from "../../stream/waiting.ts";

export const streamCopy = defineCommand({
  name: "stream copy",
  summary: "copy a video from a URL",
  arguments: [
    { name: "url", summary: "URL of the file; the server must support HEAD and range requests", required: true },
  ],
  options: { ...aboutOptions, ...waitOption, ...serverOptions },
  examples: [["reelpost stream copy https://example.com/talk.mp4 --wait", "waits until the video is playable"]],
  async run({ wait, url, token, account, ...about }, [source], surroundings) {
    const connection = await connect({ url, token, account }, surroundings);
    const begun = await connection.api.result<Video>("POST", `${connection.base}/stream/copy`, {
      json: { input: source, ...fieldsOf(about) },
    });
    const video = wait === true ? await waitUntilPlayable(connection, begun.uid) : begun;
    printResult(surroundings, video, (paint) => uploadedLines(video, paint));
    return 0;
  },
});
