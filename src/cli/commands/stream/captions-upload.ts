import { connect } from "../../api/connect.ts";
import { at } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { readSmallFile } from "../../input.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";
import { videoArgument, videoPath } from "../../stream/video.ts";
import { oneLine } from "../../../kernel/text.ts";

/** The API's own bound. */
const MAX = 10 * 1024 * 1024;

export const streamCaptionsUpload = defineCommand({
  name: "stream captions upload",
  summary: "upload captions of a video, replacing those in the same language",
  arguments: [
    videoArgument,
    { name: "language", summary: "language tag (BCP 47): en, pt-BR", required: true },
    { name: "file", summary: "WebVTT or SubRip", required: true, complete: "file" },
  ],
  options: serverOptions,
  examples: [["reelpost stream captions upload 91ab… de talk.de.vtt", "in German"]],
  async run(values, [uid, language, file], surroundings) {
    const connection = await connect(values, surroundings);
    const path = `${videoPath(connection, uid!)}/captions${at`/${language!}`}`;
    const content = await readSmallFile(surroundings.cwd, file!, MAX);
    const { result: caption, messages = [] } = await connection.api.envelope<{ language: string; label: string }>(
      "PUT",
      path,
      { body: () => formOf(content) },
    );
    printResult(surroundings, caption, () => [
      `${uid!} has captions in ${oneLine(caption.label)} (${caption.language})`,
    ]);
    if (!surroundings.json) for (const { message } of messages) surroundings.stderr.line(oneLine(message));
    return 0;
  },
});

function formOf(content: Buffer): FormData {
  const form = new FormData();
  form.set("file", new Blob([new Uint8Array(content)], { type: "text/vtt" }), "captions.vtt");
  return form;
}
