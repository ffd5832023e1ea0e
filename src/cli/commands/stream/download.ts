import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { saveBody } from "../../save.ts";
import { serverOptions } from "../../shared-options.ts";
import { fetchDelivered, playable } from "../../stream/delivered.ts";
import { FILES, readyDownload } from "../../stream/downloads.ts";
import { videoArgument } from "../../stream/video.ts";
import { waitUntilPlayable } from "../../stream/waiting.ts";
import { formatSize } from "../../../kernel/text.ts";

export const streamDownload = defineCommand({
  name: "stream download",
  summary: "download a video as MP4",
  description:
    "Creates the download first if necessary, once the video is playable; the server keeps it for other users. For a protected video it signs a token.",
  arguments: [videoArgument],
  options: {
    audio: { type: "boolean", summary: "audio only, as M4A" },
    file: {
      type: "string",
      short: "f",
      placeholder: "file",
      summary: "output file",
      defaultText: "<uid>.mp4 or <uid>.m4a",
      complete: "file",
    },
    pipe: { type: "boolean", summary: "write to standard output" },
    ...serverOptions,
  },
  examples: [
    ["reelpost stream download 91ab… --file talk.mp4", "into a file"],
    ["reelpost stream download 91ab… --audio", "audio only"],
  ],
  async run({ audio, file, pipe, ...values }, [uid], surroundings) {
    const connection = await connect(values, surroundings);
    const { progress } = connection;
    const video = await waitUntilPlayable(connection, uid!);
    const type = audio === true ? "audio" : "default";
    const url = await readyDownload(connection, video.uid, type);
    const response = await fetchDelivered(await playable(connection, video, url, { downloadable: true }));
    const target = pipe === true ? undefined : (file ?? `${video.uid}.${FILES[type].extension}`);
    const size = await saveBody(
      response,
      target,
      surroundings,
      progress.meter(`reading ${video.uid}`, Number(response.headers.get("content-length") ?? 0)),
    );
    progress.clear();
    if (target !== undefined)
      printResult(surroundings, { uid: video.uid, type, url, file: target, size }, () => [
        `${target} is written: ${formatSize(size)}`,
      ]);
    return 0;
  },
});
