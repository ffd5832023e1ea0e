import { oneLine } from "../../kernel/text.ts";
import { connectToApi } from "../api/connect.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { readSmallFile } from "../input.ts";
import { printResult, table } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";
import { videoArgument, videoPath } from "../stream/video.ts";

/** The limit of the API. */
const MAX_CHAPTERS_BYTES = 256 * 1024;

interface ChapterList {
  chapters: { start: number; title: string }[];
}

const streamChaptersList = defineCommand({
  name: "stream chapters list",
  summary: "list the chapters of a video",
  arguments: [videoArgument],
  options: { vtt: { type: "boolean", summary: "print a WebVTT file" }, ...serverOptions },
  examples: [
    ["reelpost stream chapters list 91ab…", "start times and titles"],
    ["reelpost stream chapters list 91ab… --vtt > chapters.vtt", "a file that `set` accepts"],
  ],
  async run({ vtt, ...values }, [uid], context) {
    const connection = await connectToApi(values, context);
    const path = `${videoPath(connection, uid!)}/chapters`;
    if (vtt === true) {
      const response = await connection.api.raw("GET", `${path}/vtt`);
      const text = await response.text();
      printResult(context, { vtt: text }, () => text.trimEnd().split("\n"));
      return 0;
    }
    const { chapters } = await connection.api.result<ChapterList>("GET", path);
    printResult(context, chapters, (paint) =>
      chapters.length === 0
        ? ["No chapters."]
        : table(
            ["start", "title"],
            chapters.map(({ start, title }) => [startText(start), oneLine(title)]),
            paint,
          ),
    );
    return 0;
  },
});

const streamChaptersSet = defineCommand({
  name: "stream chapters set",
  summary: "replace the chapters of a video with those in a file",
  arguments: [
    videoArgument,
    { name: "file", summary: "WebVTT or SubRip, one cue per chapter", required: true, complete: "file" },
  ],
  options: serverOptions,
  examples: [["reelpost stream chapters set 91ab… chapters.vtt", "from a WebVTT file"]],
  async run(values, [uid, file], context) {
    const connection = await connectToApi(values, context);
    const path = `${videoPath(connection, uid!)}/chapters/vtt`;
    const content = await readSmallFile(context.cwd, file!, MAX_CHAPTERS_BYTES);
    const { chapters } = await connection.api.result<ChapterList>("PUT", path, { body: () => formOf(content) });
    const count = `${chapters.length} ${chapters.length === 1 ? "chapter" : "chapters"}`;
    printResult(context, chapters, () => [`Stored ${count} of ${uid!}`]);
    return 0;
  },
});

function formOf(content: Buffer): FormData {
  const form = new FormData();
  form.set("file", new Blob([new Uint8Array(content)], { type: "text/vtt" }), "chapters.vtt");
  return form;
}

const streamChaptersDelete = defineCommand({
  name: "stream chapters delete",
  summary: "delete the chapters of a video",
  arguments: [videoArgument],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost stream chapters delete 91ab… --yes", "in a script"]],
  async run({ yes, ...values }, [uid], context) {
    const connection = await connectToApi(values, context);
    const path = `${videoPath(connection, uid!)}/chapters`;
    await confirm(`Delete the chapters of ${uid!}?`, yes, context);
    await connection.api.result("DELETE", path);
    printResult(context, { uid, deleted: true }, () => [`Deleted the chapters of ${uid!}`]);
    return 0;
  },
});

/** Formats a time, such as `0:00:07.500`. */
function startText(seconds: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const milliseconds = String(Math.round(seconds * 1000) % 1000).padStart(3, "0");
  return `${Math.floor(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}.${milliseconds}`;
}

export const streamChaptersCommands: readonly Command[] = [streamChaptersList, streamChaptersSet, streamChaptersDelete];
