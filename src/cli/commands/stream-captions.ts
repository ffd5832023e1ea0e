import { oneLine } from "../../kernel/text.ts";
import { connectToApi } from "../api/connect.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { readSmallFile } from "../input.ts";
import { printResult, table } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";
import { videoArgument, videoPath } from "../stream/video.ts";

/** The limit imposed by the API. */
const MAX_CAPTION_BYTES = 10 * 1024 * 1024;

const streamCaptionsUpload = defineCommand({
  name: "stream captions upload",
  summary: "upload captions of a video, replacing those in the same language",
  arguments: [
    videoArgument,
    { name: "language", summary: "language tag (BCP 47): en, pt-BR", required: true },
    { name: "file", summary: "WebVTT or SubRip", required: true, complete: "file" },
  ],
  options: serverOptions,
  examples: [["reelpost stream captions upload 91ab… de talk.de.vtt", "in German"]],
  async run(values, [uid, language, file], context) {
    const connection = await connectToApi(values, context);
    const path = `${videoPath(connection, uid!)}/captions${at`/${language!}`}`;
    const content = await readSmallFile(context.cwd, file!, MAX_CAPTION_BYTES);
    const { result: caption, messages = [] } = await connection.api.envelope<{ language: string; label: string }>(
      "PUT",
      path,
      { body: () => formOf(content) },
    );
    printResult(context, caption, () => [
      `Uploaded captions in ${oneLine(caption.label)} (${caption.language}) for ${uid!}`,
    ]);
    if (!context.json) for (const { message } of messages) context.stderr.line(oneLine(message));
    return 0;
  },
});

function formOf(content: Buffer): FormData {
  const form = new FormData();
  form.set("file", new Blob([new Uint8Array(content)], { type: "text/vtt" }), "captions.vtt");
  return form;
}

interface Caption {
  language: string;
  label: string;
  generated: boolean;
  status: string;
}

const streamCaptionsList = defineCommand({
  name: "stream captions list",
  summary: "list the captions of a video",
  arguments: [videoArgument],
  options: serverOptions,
  examples: [["reelpost stream captions list 91ab…", "languages and states"]],
  async run(values, [uid], context) {
    const connection = await connectToApi(values, context);
    const captions = await connection.api.result<Caption[]>("GET", `${videoPath(connection, uid!)}/captions`);
    printResult(context, captions, (paint) =>
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

const streamCaptionsDelete = defineCommand({
  name: "stream captions delete",
  summary: "delete the captions of a video in a language",
  arguments: [videoArgument, { name: "language", summary: "language tag as listed", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost stream captions delete 91ab… de --yes", "in a script"]],
  async run({ yes, ...values }, [uid, language], context) {
    const connection = await connectToApi(values, context);
    const path = `${videoPath(connection, uid!)}/captions${at`/${language!}`}`;
    await confirm(`Delete the captions of ${uid!} in ${language!}?`, yes, context);
    await connection.api.result("DELETE", path);
    printResult(context, { uid, language, deleted: true }, () => [`Deleted the captions in ${language!}`]);
    return 0;
  },
});

export const streamCaptionsCommands: readonly Command[] = [
  streamCaptionsUpload,
  streamCaptionsList,
  streamCaptionsDelete,
];
