import { z } from "@hono/zod-openapi";
import {
  MAX_WATERMARK_BYTES,
  showWatermark,
  streamErrors,
  type Watermarks,
  type WatermarkRequest,
} from "../../../stream/index.ts";
import { noChosenIds, type ChosenIds } from "../../chosen-id.ts";
import { parseJson } from "../../body.ts";
import { invalidInput } from "../../envelope.ts";
import { respond, route, type Call, type Route } from "../../operation.ts";
import { toBadParameter } from "./bad-parameter.ts";
import { filePart, isForm } from "./sent-file.ts";
import { watermarkSchema } from "./video-schemas.ts";
import { itemsOfPage, wholeListQuery } from "./whole-list.ts";

interface StreamWatermarksDeps {
  watermarks: Pick<Watermarks, "create" | "createFromUrl" | "list" | "get" | "image" | "delete">;
  /** Default: ids cannot be chosen. */
  chosenIds?: ChosenIds;
}

const tag = "Stream Watermark Profile";
const WATERMARKS_PATH = "/accounts/{account_id}/stream/watermarks";
const WATERMARK_PATH = `${WATERMARKS_PATH}/{identifier}`;
/** Maximum size of a form in addition to its file, with enough room to report a file that is too large. */
const FORM = 1024 * 1024;

/** Form fields are always text. */
const share = z.union([
  z.number(),
  z
    .string()
    .regex(/^\s*\d*\.?\d+\s*$/, "is not a number")
    .transform(Number),
]);
const watermarkOptionsSchema = z.object({
  url: z.string().nullish(),
  name: z.string().nullish(),
  opacity: share.nullish(),
  padding: share.nullish(),
  scale: share.nullish(),
  position: z.enum(["upperRight", "upperLeft", "lowerLeft", "lowerRight", "center"]).nullish(),
});

interface WatermarkUpload {
  url: string | undefined;
  file: Uint8Array | undefined;
  options: WatermarkRequest;
}

/** Reads a form with the image or its URL, or JSON with its URL. */
async function readWatermark(call: Call): Promise<WatermarkUpload> {
  const form = isForm(call) ? await call.form() : undefined;
  const parsedOptions = watermarkOptionsSchema.safeParse(
    form === undefined
      ? (parseJson(await call.bytes()) ?? {})
      : Object.fromEntries([...form].filter(([name]) => name !== "file")),
  );
  if (!parsedOptions.success) throw invalidInput(parsedOptions.error, "body");
  const { url, ...options } = parsedOptions.data;
  const file = form?.has("file") === true ? await filePart(form) : undefined;
  if (!url && file === undefined)
    throw streamErrors.badParameter({ reason: "an image is required: a form part named file, or its url" });
  return {
    url: url ?? undefined,
    file,
    options: Object.fromEntries(Object.entries(options).filter(([, value]) => value != null)),
  };
}

export const streamWatermarksRoutes = ({ watermarks, chosenIds = noChosenIds }: StreamWatermarksDeps): Route[] => [
  route(
    {
      id: "stream-watermark-profile-list-watermark-profiles",
      method: "get",
      path: WATERMARKS_PATH,
      tag,
      summary: "List watermark profiles",
      permission: "Stream Read",
      query: wholeListQuery,
      result: z.array(watermarkSchema),
    },
    async ({ params, query }) =>
      respond(itemsOfPage(await watermarks.list(params.account_id!), query).map(showWatermark)),
  ),
  route(
    {
      id: "stream-watermark-profile-create-watermark-profiles-via-basic-upload",
      method: "post",
      path: WATERMARKS_PATH,
      tag,
      summary: "Create a watermark profile from a PNG: a form with `file`, or JSON with `url`",
      chosenId: "hex",
      permission: "Stream Write",
      translate: toBadParameter,
      maxBytes: MAX_WATERMARK_BYTES + FORM,
      result: watermarkSchema,
    },
    async (call) => {
      const account = call.params["account_id"]!;
      const uid = await chosenIds.of(call, "hex");
      const { url, file, options } = await readWatermark(call);
      return respond(
        showWatermark(
          file === undefined
            ? await watermarks.createFromUrl(account, url!, options, uid)
            : await watermarks.create(account, file, options, uid),
        ),
      );
    },
  ),
  route(
    {
      id: "stream-watermark-profile-watermark-profile-details",
      method: "get",
      path: WATERMARK_PATH,
      tag,
      summary: "Get a watermark profile",
      permission: "Stream Read",
      result: watermarkSchema,
    },
    async ({ params }) => respond(showWatermark(await watermarks.get(params.account_id!, params.identifier!))),
  ),
  route(
    {
      id: "stream-watermark-profile-image",
      method: "get",
      path: `${WATERMARK_PATH}/image`,
      tag,
      summary: "Get the image of a watermark profile",
      permission: "Stream Read",
      raw: "image/png",
    },
    async ({ params }) => {
      const image = await watermarks.image(params.account_id!, params.identifier!);
      return new Response(image as Uint8Array<ArrayBuffer>, { headers: { "content-type": "image/png" } });
    },
  ),
  route(
    {
      id: "stream-watermark-profile-delete-watermark-profiles",
      method: "delete",
      path: WATERMARK_PATH,
      tag,
      summary: "Delete a watermark profile; videos that use it keep the watermark",
      permission: "Stream Write",
      result: z.string(),
    },
    async ({ params }) => {
      await watermarks.delete(params.account_id!, params.identifier!);
      return respond("");
    },
  ),
];
