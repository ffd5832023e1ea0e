import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";
import { aboutOptions } from "../../stream/about.ts";
import { uploadFile } from "../../stream/upload-file.ts";
import { uploadedLines, videoPath, type Video } from "../../stream/video.ts";
import { waitOption, waitUntilPlayable } from "../../stream/waiting.ts";

export const streamUpload = defineCommand({
  name: "stream upload",
  summary: "upload a video",
  description: `Uploads in chunks (TUS). If the connection is lost, the upload resumes when the server responds again; after a timeout or Ctrl-C it prints how to resume later.

Without --name the video has the name of its file.`,
  arguments: [{ name: "file", summary: "video file", required: true, complete: "file" }],
  options: {
    ...aboutOptions,
    ...waitOption,
    resume: {
      type: "string",
      placeholder: "address",
      summary: "resume an interrupted upload",
    },
    ...serverOptions,
  },
  examples: [
    ["reelpost stream upload talk.mp4 --wait", "waits until the video is playable, about a second after the upload"],
    ["reelpost stream upload talk.mp4 --name 'The talk' --creator ada --signed", "playable with tokens only"],
  ],
  async run({ wait, resume, url, token, account, ...about }, [file], surroundings) {
    const connection = await connect({ url, token, account }, surroundings);
    const uid = await uploadFile(connection, file!, { about, resume }, surroundings);
    const video =
      wait === true
        ? await waitUntilPlayable(connection, uid)
        : await connection.api.result<Video>("GET", videoPath(connection, uid));
    printResult(surroundings, video, (paint) => uploadedLines(video, paint));
    return 0;
  },
});
