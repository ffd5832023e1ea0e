import { z } from "@hono/zod-openapi";
import {
  DOWNLOAD_FILE_NAMES,
  streamErrors,
  type Download,
  type Downloads,
  type DownloadType,
  type StreamUrls,
} from "../../../stream/index.ts";
import { respond, route, type Route } from "../../operation.ts";

interface StreamDownloadsDeps {
  downloads: Pick<Downloads, "create" | "list" | "delete">;
  urls: Pick<StreamUrls, "at">;
}

const tag = "Stream MP4 Downloads";
const DOWNLOADS_PATH = "/accounts/{account_id}/stream/{identifier}/downloads";
const DOWNLOAD_PATH = `${DOWNLOADS_PATH}/{download_type}`;

const downloadSchema = z.object({
  status: z.enum(["ready", "inprogress", "error"]),
  percentComplete: z.number(),
  url: z.string(),
});
const downloadsSchema = z.object({ default: downloadSchema.optional(), audio: downloadSchema.optional() });

export function streamDownloadsRoutes({ downloads, urls }: StreamDownloadsDeps): Route[] {
  const show = (account: string, uid: string, made: readonly Download[]) =>
    respond(
      Object.fromEntries(
        made.map(({ type, status, percentComplete }) => [
          type,
          { status, percentComplete, url: urls.at({ account, uid }, `downloads/${DOWNLOAD_FILE_NAMES[type]}`) },
        ]),
      ),
    );

  const create = async (account: string, uid: string, type: DownloadType) =>
    show(account, uid, await downloads.create(account, uid, type));
  const remove = async (account: string, uid: string, type: DownloadType) => {
    await downloads.delete(account, uid, type);
    return respond("ok");
  };

  return [
    route(
      {
        id: "stream-m-p-4-downloads-list-downloads",
        method: "get",
        path: DOWNLOADS_PATH,
        tag,
        summary: "List the downloads of a video",
        permission: "Stream Read",
        result: downloadsSchema,
      },
      async ({ params }) =>
        show(params.account_id!, params.identifier!, await downloads.list(params.account_id!, params.identifier!)),
    ),
    route(
      {
        id: "stream-m-p-4-downloads-create-downloads",
        method: "post",
        path: DOWNLOADS_PATH,
        tag,
        summary: "Create the MP4 download of a video",
        permission: "Stream Write",
        result: downloadsSchema,
      },
      ({ params }) => create(params.account_id!, params.identifier!, "default"),
    ),
    route(
      {
        id: "stream-m-p-4-downloads-delete-downloads",
        method: "delete",
        path: DOWNLOADS_PATH,
        tag,
        summary: "Delete the MP4 download of a video",
        permission: "Stream Write",
        result: z.string(),
      },
      ({ params }) => remove(params.account_id!, params.identifier!, "default"),
    ),
    route(
      {
        id: "stream-downloads-create-type-specific-downloads",
        method: "post",
        path: DOWNLOAD_PATH,
        tag,
        summary: "Create a download of a video: `default` (MP4) or `audio` (M4A)",
        permission: "Stream Write",
        result: downloadsSchema,
      },
      ({ params }) => create(params.account_id!, params.identifier!, typeOf(params.download_type!)),
    ),
    route(
      {
        id: "stream-downloads-delete-type-specific-downloads",
        method: "delete",
        path: DOWNLOAD_PATH,
        tag,
        summary: "Delete a download of a video",
        permission: "Stream Write",
        result: z.string(),
      },
      ({ params }) => remove(params.account_id!, params.identifier!, typeOf(params.download_type!)),
    ),
  ];
}

function typeOf(typeText: string): DownloadType {
  if (typeText !== "default" && typeText !== "audio")
    throw streamErrors.badParameter({
      reason: `the download type must be default or audio, not ${JSON.stringify(typeText.slice(0, 40))}`,
    });
  return typeText;
}
