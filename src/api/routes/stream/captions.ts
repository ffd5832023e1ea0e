import { z } from "@hono/zod-openapi";
import { streamErrors, type Captions } from "../../../stream/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { filePart, isForm } from "./sent-file.ts";
import { itemsOfPage, wholeListQuery } from "./whole-list.ts";

interface StreamCaptionsDeps {
  captions: Pick<Captions, "upload" | "generate" | "list" | "get" | "text" | "delete">;
}

const tag = "Stream Subtitles/Captions";
const CAPTIONS_PATH = "/accounts/{account_id}/stream/{identifier}/captions";
const CAPTION_PATH = `${CAPTIONS_PATH}/{language}`;
const MAX_FILE_BYTES = 10 * 1024 * 1024;
/** Maximum size of a form in addition to its file. */
const FORM = 64 * 1024;

const captionSchema = z.object({
  language: z.string(),
  label: z.string(),
  generated: z.boolean(),
  status: z.enum(["ready", "inprogress", "error"]),
});
const captionKeyOf = ({
  account_id,
  identifier,
  language,
}: Record<string, string>): [account: string, uid: string, language: string] => [account_id!, identifier!, language!];

export const streamCaptionsRoutes = ({ captions }: StreamCaptionsDeps): Route[] => [
  route(
    {
      id: "stream-subtitles/-captions-list-captions-or-subtitles",
      method: "get",
      path: CAPTIONS_PATH,
      tag,
      summary: "List the captions of a video",
      permission: "Stream Read",
      query: wholeListQuery,
      result: z.array(captionSchema),
    },
    async ({ params, query }) =>
      respond(itemsOfPage(await captions.list(params.account_id!, params.identifier!), query)),
  ),
  route(
    {
      id: "stream-subtitles/-captions-get-caption-or-subtitle-for-language",
      method: "get",
      path: CAPTION_PATH,
      tag,
      summary: "Get the captions of a video in one language",
      permission: "Stream Read",
      result: captionSchema,
    },
    async ({ params }) => respond(await captions.get(...captionKeyOf(params))),
  ),
  route(
    {
      id: "stream-subtitles/-captions-upload-captions-or-subtitles",
      method: "put",
      path: CAPTION_PATH,
      tag,
      summary: "Upload or replace the captions of a video (WebVTT or SubRip): a form with `file`",
      permission: "Stream Write",
      maxBytes: MAX_FILE_BYTES + FORM,
      result: captionSchema,
    },
    async (call) => {
      const file = isForm(call) ? await filePart(await call.form()) : await call.bytes();
      if (file.length > MAX_FILE_BYTES)
        throw streamErrors.tooLarge({ limit: MAX_FILE_BYTES, rule: "the maximum for captions" });
      const { caption, unread } = await captions.upload(...captionKeyOf(call.params), file);
      return respond(
        caption,
        unread === undefined ? {} : { messages: [{ code: streamErrors.table.badCaptions.code, message: unread }] },
      );
    },
  ),
  route(
    {
      id: "stream-subtitles/-captions-delete-captions-or-subtitles",
      method: "delete",
      path: CAPTION_PATH,
      tag,
      summary: "Delete the captions of a video in one language",
      permission: "Stream Write",
      result: z.string(),
    },
    async ({ params }) => {
      await captions.delete(...captionKeyOf(params));
      return respond("");
    },
  ),
  route(
    {
      id: "stream-subtitles/-captions-generate-caption-or-subtitle-for-language",
      method: "post",
      path: `${CAPTION_PATH}/generate`,
      tag,
      summary: "Generate captions by speech recognition",
      permission: "Stream Write",
      result: captionSchema,
    },
    async (call) => {
      await call.bytes();
      return respond(await captions.generate(...captionKeyOf(call.params)));
    },
  ),
  route(
    {
      id: "stream-subtitles/-captions-get-vtt-caption-or-subtitle",
      method: "get",
      path: `${CAPTION_PATH}/vtt`,
      tag,
      summary: "Get captions as a WebVTT file",
      permission: "Stream Read",
      raw: "text/vtt",
    },
    async ({ params }) =>
      new Response(await captions.text(...captionKeyOf(params)), {
        headers: { "content-type": "text/vtt; charset=utf-8" },
      }),
  ),
];
