import type { Readable } from "node:stream";
import type { StreamPort } from "../../workers/ports.ts";
import type { Captions } from "../captions/index.ts";
import type { Downloads } from "../downloads/index.ts";
import { streamErrors } from "../errors.ts";
import type { PlaybackTokens } from "../tokens/index.ts";
import type { Uploads } from "../uploads/index.ts";
import type { CreatedBound, StreamUrls, VideoCatalog, Videos } from "../videos/index.ts";
import { MAX_WATERMARK_BYTES, type Watermarks } from "../watermarks/index.ts";
import {
  COMPARISONS,
  directUploadParams,
  downloadType,
  parseParam,
  listParams,
  definedFields,
  tokenParams,
  updateParams,
  uploadParams,
  watermarkParams,
  textParam,
} from "./params.ts";
import { toBindingError, throwBadParameter, throwDownloadNotFound } from "./errors.ts";
import { toBindingDownloads, toBindingVideo, toBindingWatermark } from "./shapes.ts";

interface StreamBindingDeps {
  videos: Pick<Videos, "get" | "edit" | "delete"> & Pick<VideoCatalog, "list">;
  urls: StreamUrls;
  uploads: Pick<Uploads, "direct" | "copy" | "bytes">;
  tokens: Pick<PlaybackTokens, "sign">;
  downloads: Pick<Downloads, "create" | "list" | "delete">;
  captions: Pick<Captions, "upload" | "generate" | "list" | "delete">;
  watermarks: Pick<Watermarks, "create" | "createFromUrl" | "list" | "get" | "delete">;
  /** Account for workers without one, such as those of `reelpost dev`. */
  defaultAccount?: string;
}

/** Read into memory; larger files are rejected. */
const MAX_CAPTIONS_BYTES = 10 * 1024 * 1024;

type Operation = (account: string, args: unknown[], bytes: Readable | undefined) => Promise<unknown>;

/** Creates the `stream` binding of workers: the same domain functions as the API, under the names of the binding. */
export function createStreamBinding({
  videos,
  urls,
  uploads,
  tokens,
  downloads,
  captions,
  watermarks,
  defaultAccount,
}: StreamBindingDeps): StreamPort {
  const idOf = (args: unknown[]) => parseParam(textParam, args[0], "id");
  const toBoundVideo = (video: Parameters<typeof toBindingVideo>[0]) => toBindingVideo(video, urls);

  const operations: Record<string, Operation> = {
    async upload(account, [url, params]) {
      return toBoundVideo(
        await uploads.copy(account, { ...requestedVideo(params), url: parseParam(textParam, url, "url") }),
      );
    },
    async uploadBytes(account, [params], bytes) {
      return toBoundVideo(await uploads.bytes(account, requireBytes(bytes), requestedVideo(params)));
    },
    async createDirectUpload(account, [params]) {
      const { expiry, watermark, ...rest } = parseParam(directUploadParams, params ?? {}, "params");
      const { video, uploadUrl } = await uploads.direct(account, {
        ...definedFields(rest),
        maxDurationSeconds: rest.maxDurationSeconds,
        ...(expiry !== undefined && { uploadExpiry: expiry }),
        ...(watermark && { watermark: watermark.id }),
      });
      const { id, watermark: profile, scheduledDeletion } = toBoundVideo(video);
      return { uploadURL: uploadUrl, id, watermark: profile, scheduledDeletion };
    },
    async "videos/list"(account, [params]) {
      checkComparisons(params);
      const { limit, before, beforeComp, after, afterComp } = parseParam(listParams, params ?? {}, "params");
      const bounds: [CreatedBound["op"], number | undefined][] = [
        [beforeComp, before],
        [afterComp, after],
      ];
      const createdFilter = bounds.flatMap(([op, at]) => (at === undefined ? [] : [{ op, at }]));
      return (await videos.list(account, { created: createdFilter, ...(limit !== undefined && { limit }) })).map(
        toBoundVideo,
      );
    },
    "video/details": async (account, args) => toBoundVideo(await videos.get(account, idOf(args))),
    "video/update": async (account, args) => {
      const { publicDetails, ...change } = parseParam(updateParams, args[1] ?? {}, "params");
      return toBoundVideo(
        await videos.edit(account, idOf(args), {
          ...definedFields(change),
          ...(publicDetails && { publicDetails: definedFields(publicDetails) }),
        }),
      );
    },
    "video/delete": (account, args) => videos.delete(account, idOf(args)),
    "video/generateToken": async (account, args) =>
      tokens.sign(account, idOf(args), definedFields(parseParam(tokenParams, args[1] ?? {}, "options"))),
    "downloads/generate": async (account, args) =>
      toBindingDownloads(
        account,
        idOf(args),
        await downloads.create(account, idOf(args), parseParam(downloadType, args[1] ?? undefined, "downloadType")),
        urls,
      ),
    "downloads/get": async (account, args) =>
      toBindingDownloads(account, idOf(args), await downloads.list(account, idOf(args)), urls),
    "downloads/delete": async (account, args) => {
      const type = parseParam(downloadType, args[1] ?? undefined, "downloadType");
      const existingDownloads = await downloads.list(account, idOf(args));
      if (!existingDownloads.some((download) => download.type === type)) throwDownloadNotFound(idOf(args), type);
      return downloads.delete(account, idOf(args), type);
    },
    "captions/upload": async (account, args, bytes) =>
      (
        await captions.upload(
          account,
          idOf(args),
          parseParam(textParam, args[1], "language"),
          await readAll(bytes, MAX_CAPTIONS_BYTES, "captions"),
        )
      ).caption,
    "captions/generate": (account, args) =>
      captions.generate(account, idOf(args), parseParam(textParam, args[1], "language")),
    async "captions/list"(account, args) {
      const language = parseParam(textParam.nullish(), args[1], "language");
      const captionList = await captions.list(account, idOf(args));
      return language == null
        ? captionList
        : captionList.filter((caption) => caption.language.toLowerCase() === language.toLowerCase());
    },
    "captions/delete": (account, args) =>
      captions.delete(account, idOf(args), parseParam(textParam, args[1], "language")),
    "watermarks/generate": async (account, [url, params]) =>
      toBindingWatermark(
        await watermarks.createFromUrl(account, parseParam(textParam, url, "url"), watermarkOf(params)),
      ),
    "watermarks/generateFromBytes": async (account, [params], bytes) =>
      toBindingWatermark(
        await watermarks.create(account, await readAll(bytes, MAX_WATERMARK_BYTES, "a watermark"), watermarkOf(params)),
      ),
    "watermarks/list": async (account) => (await watermarks.list(account)).map(toBindingWatermark),
    "watermarks/get": async (account, args) => toBindingWatermark(await watermarks.get(account, idOf(args))),
    "watermarks/delete": (account, args) => watermarks.delete(account, idOf(args)),
  };

  return {
    async call({ account = defaultAccount }, operation, args, bytes) {
      if (account === undefined || !Object.hasOwn(operations, operation))
        throw streamErrors.badParameter({ reason: `the binding has no ${operation}` });
      try {
        return await operations[operation]!(account, args, bytes);
      } catch (err) {
        throw toBindingError(err, args);
      }
    },
  };
}

function requestedVideo(params: unknown) {
  const { watermarkId, ...rest } = parseParam(uploadParams, params ?? {}, "params");
  return { ...definedFields(rest), ...(watermarkId !== undefined && { watermark: watermarkId }) };
}

/** Also checks the bounds here, to return the error messages of the local simulator. */
function watermarkOf(params: unknown) {
  const wantedFields = definedFields(parseParam(watermarkParams, params ?? {}, "params"));
  for (const name of ["opacity", "padding", "scale"] as const)
    if (wantedFields[name] !== undefined && !(wantedFields[name] >= 0 && wantedFields[name] <= 1))
      throwBadParameter(`${name} must be between 0.0 and 1.0`);
  return wantedFields;
}

function checkComparisons(params: unknown): void {
  for (const comparison of ["beforeComp", "afterComp"]) {
    const value = (params as Record<string, unknown> | null | undefined)?.[comparison];
    if (value !== undefined && !COMPARISONS.includes(value as never))
      throwBadParameter(`Invalid comparison operator: ${String(value).slice(0, 100)}`);
  }
}

function requireBytes(bytes: Readable | undefined): Readable {
  if (bytes === undefined) throw streamErrors.badParameter({ reason: "must be bytes" });
  return bytes;
}

async function readAll(bytes: Readable | undefined, limit: number, subject: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of requireBytes(bytes) as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > limit) throw streamErrors.tooLarge({ limit, rule: `the maximum for ${subject}` });
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
