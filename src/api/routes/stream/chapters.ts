import { z } from "@hono/zod-openapi";
import { type Chapters, streamErrors } from "../../../stream/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { filePart, isForm } from "./sent-file.ts";

interface StreamChaptersDeps {
  chapters: Pick<Chapters, "get" | "set" | "importFile" | "text" | "delete">;
}

const tag = "Stream Chapters";
const CHAPTERS_PATH = "/accounts/{account_id}/stream/{identifier}/chapters";
const MAX_FILE_BYTES = 256 * 1024;
/** Maximum size of a form in addition to its file. */
const FORM = 64 * 1024;

const chaptersSchema = z.object({
  chapters: z
    .array(
      z.object({
        start: z.number().openapi({ description: "Seconds from the start of the video", example: 90.5 }),
        title: z.string().openapi({ description: "1 to 200 characters, one line", example: "Results" }),
      }),
    )
    .openapi({ description: "Up to 200 chapters. A chapter lasts until the next one starts." }),
});
const videoOf = ({ account_id, identifier }: Record<string, string>): [account: string, uid: string] => [
  account_id!,
  identifier!,
];

export const streamChaptersRoutes = ({ chapters }: StreamChaptersDeps): Route[] => [
  route(
    {
      id: "stream-chapters-list-chapters",
      method: "get",
      path: CHAPTERS_PATH,
      tag,
      summary: "List the chapters of a video, sorted by start",
      permission: "Stream Read",
      result: chaptersSchema,
    },
    async ({ params }) => respond({ chapters: await chapters.get(...videoOf(params)) }),
  ),
  route(
    {
      id: "stream-chapters-replace-chapters",
      method: "put",
      path: CHAPTERS_PATH,
      tag,
      summary: "Replace the chapters of a video",
      permission: "Stream Write",
      body: chaptersSchema,
      result: chaptersSchema,
    },
    async ({ params, body }) => respond({ chapters: await chapters.set(...videoOf(params), body.chapters) }),
  ),
  route(
    {
      id: "stream-chapters-delete-chapters",
      method: "delete",
      path: CHAPTERS_PATH,
      tag,
      summary: "Delete the chapters of a video",
      permission: "Stream Write",
      result: z.string(),
    },
    async ({ params }) => {
      await chapters.delete(...videoOf(params));
      return respond("");
    },
  ),
  route(
    {
      id: "stream-chapters-get-vtt-chapters",
      method: "get",
      path: `${CHAPTERS_PATH}/vtt`,
      tag,
      summary: "Get the chapters of a video as a WebVTT file",
      permission: "Stream Read",
      raw: "text/vtt",
    },
    async ({ params }) =>
      new Response(await chapters.text(...videoOf(params)), {
        headers: { "content-type": "text/vtt; charset=utf-8" },
      }),
  ),
  route(
    {
      id: "stream-chapters-upload-vtt-chapters",
      method: "put",
      path: `${CHAPTERS_PATH}/vtt`,
      tag,
      summary:
        "Replace the chapters of a video with the cues of a WebVTT or SubRip file: the body, or a form with `file`",
      permission: "Stream Write",
      maxBytes: MAX_FILE_BYTES + FORM,
      result: chaptersSchema,
    },
    async (call) => {
      const file = isForm(call) ? await filePart(await call.form()) : await call.bytes();
      if (file.length > MAX_FILE_BYTES)
        throw streamErrors.tooLarge({ limit: MAX_FILE_BYTES, rule: "the maximum for chapters" });
      return respond({ chapters: await chapters.importFile(...videoOf(call.params), file) });
    },
  ),
];
