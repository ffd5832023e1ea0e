import type { ObjectStore } from "../../store/index.ts";
import type { DeliveryRoute, DeliveryContext } from "../delivery/index.ts";
import { streamErrors } from "../errors.ts";
import { metaText, type Video } from "../videos/index.ts";
import type { DownloadsTable } from "./downloads-table.ts";
import { downloadKey } from "./make.ts";
import { DOWNLOAD_TYPES, DOWNLOAD_FILE_NAMES, DOWNLOAD_MEDIA_TYPES, type DownloadType } from "./types.ts";

interface DownloadRoutesDeps {
  table: Pick<DownloadsTable, "find">;
  objects: Pick<ObjectStore, "open">;
}

const FILENAME_PATTERN = /^[A-Za-z0-9_-]{1,120}$/;

/** `/{id}/downloads/default.mp4`, `audio.m4a`, and `original`: `access` decides whether they may be downloaded. */
export function downloadRoutes({ table, objects }: DownloadRoutesDeps): DeliveryRoute[] {
  async function send(viewing: DeliveryContext, type: DownloadType): Promise<void> {
    const { video } = viewing;
    assertNotFailed(video);
    const row = await table.find(video.uid, type);
    const object = row?.status === "ready" ? await objects.open(downloadKey(video.uid, type, row.build)) : undefined;
    if (object === undefined) throw streamErrors.noDownload({ type });
    await viewing.sendObject(object, {
      type: DOWNLOAD_MEDIA_TYPES[type],
      filename: `${requestedName(viewing) ?? nameOf(video)}.${DOWNLOAD_FILE_NAMES[type].split(".")[1]!}`,
    });
  }

  async function sendOriginal(viewing: DeliveryContext): Promise<void> {
    const { video } = viewing;
    assertNotFailed(video);
    // The source of a clip contains more than the clip.
    const key = video.clip === undefined ? video.sourceKey : null;
    const object = key === null ? undefined : await objects.open(key);
    if (object === undefined) throw streamErrors.noDownload({ type: "original" });
    const extension =
      /\.([A-Za-z0-9]{1,5})$/
        .exec(metaText(video.meta, "filename") ?? metaText(video.meta, "name") ?? "")?.[1]
        ?.toLowerCase() ?? "bin";
    await viewing.sendObject(object, {
      type: "application/octet-stream",
      filename: `${requestedName(viewing) ?? nameOf(video)}.${extension}`,
    });
  }

  return [
    ...DOWNLOAD_TYPES.map((type): DeliveryRoute => ({
      path: `downloads/${DOWNLOAD_FILE_NAMES[type]}`,
      purpose: "download",
      handle: (viewing) => send(viewing, type),
    })),
    { path: "downloads/original", purpose: "original", handle: sendOriginal },
  ];
}

function assertNotFailed({ state, errorReason }: Video): void {
  if (state === "error") throw streamErrors.videoFailed({ code: errorReason?.code ?? "ERR_UNKNOWN" });
}

function requestedName({ query }: DeliveryContext): string | undefined {
  const requestedFilename = query.get("filename");
  if (requestedFilename === null) return undefined;
  if (!FILENAME_PATTERN.test(requestedFilename))
    throw streamErrors.badParameter({
      reason: `filename must have at most 120 characters from A-Z a-z 0-9 _ -, not ${JSON.stringify(requestedFilename.slice(0, 130))}`,
    });
  return requestedFilename;
}

/** Returns the video's name, reduced to characters allowed in file names everywhere. */
function nameOf({ uid, meta }: Video): string {
  const plainName = (metaText(meta, "name") ?? metaText(meta, "filename") ?? "")
    .normalize("NFKD")
    .replace(/\.[A-Za-z0-9]{1,5}$/, "")
    .replace(/[^A-Za-z0-9_-]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 120);
  return plainName === "" ? uid : plainName;
}
