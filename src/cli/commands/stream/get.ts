import { connect, type Connection } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";
import { readRenditions, renditionTable, type Rendition } from "../../stream/renditions.ts";
import { videoArgument, videoLines, videoPath, type Video } from "../../stream/video.ts";
import { waitOption, waitUntilPlayable } from "../../stream/waiting.ts";
import { messageOf } from "../../../kernel/index.ts";
import { oneLine } from "../../../kernel/text.ts";

export const streamGet = defineCommand({
  name: "stream get",
  summary: "show a video: state, renditions and URLs",
  description:
    "The renditions are read from its HLS manifest: with --json they are in `renditions`, null if unavailable.",
  arguments: [videoArgument],
  options: { ...waitOption, ...serverOptions },
  examples: [["reelpost stream get 91ab…", "a uid from the list"]],
  async run({ wait, ...values }, [uid], surroundings) {
    const connection = await connect(values, surroundings);
    const video =
      wait === true
        ? await waitUntilPlayable(connection, uid!)
        : await connection.api.result<Video>("GET", videoPath(connection, uid!));
    const { renditions, reason } = await renditionsOf(connection, video);
    printResult(surroundings, { ...video, renditions }, (paint) => [
      ...videoLines(video, paint),
      ...(renditions === null ? [] : ["", ...renditionTable(renditions, paint)]),
    ]);
    if (reason !== undefined && !surroundings.json)
      surroundings.stderr.line(`cannot list the renditions: ${oneLine(reason)}`);
    return 0;
  },
});

/** A failure to read the manifest does not prevent the rest of the output. */
async function renditionsOf(
  connection: Connection,
  video: Video,
): Promise<{ renditions: Rendition[] | null; reason?: string }> {
  if (!video.readyToStream) return { renditions: null };
  return readRenditions(connection, video).then(
    (renditions) => ({ renditions }),
    (thrown: unknown) => ({ renditions: null, reason: messageOf(thrown) }),
  );
}
