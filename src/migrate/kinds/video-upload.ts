import { messageOf } from "../../kernel/index.ts";
import type { Context } from "../context.ts";
import { migrateErrors } from "../errors.ts";
import type { ItemProgress } from "../port.ts";
import type { VideoSource } from "./video-source.ts";
import type { V4Video, VideoSettings } from "./video.ts";
import { idHeader } from "./zone.ts";

/** A multiple of 256 KiB, as the hosted API requires. */
const CHUNK_BYTES = 32 * 1024 * 1024;
const MAX_FAILURES = 8;
const TUS = { "tus-resumable": "1.0.0" };

interface UploadOptions {
  settings: VideoSettings;
  progress: ItemProgress;
}

/**
 * Copies the file from the source to the target over TUS, without storing it here. An interrupted upload continues at
 * its offset. Throws `uploadChanged`, `incomplete`.
 */
export async function uploadVideo(
  context: Context,
  video: V4Video,
  source: VideoSource,
  { settings, progress }: UploadOptions,
): Promise<void> {
  try {
    const size = await sizeOf(source, video);
    const { url, offset } =
      (await resumable(context, video, size)) ?? (await create(context, { video, source, size, settings }));
    progress.bytes(offset);
    await sendAll(context, { url, size, offset, source, video }, progress);
  } finally {
    await source.close();
  }
}

async function sizeOf(source: VideoSource, video: V4Video): Promise<number> {
  const response = await source.read(0, 0);
  await response.body?.cancel();
  return sizeIn(response, video);
}

/** Reads the size of the whole file from a response to a range request. Throws `incomplete`. */
export function sizeIn(response: Response, { uid }: V4Video): number {
  const range = /\/(\d+)$/.exec(response.headers.get("content-range") ?? "")?.[1];
  const size = Number(range ?? response.headers.get("content-length") ?? Number.NaN);
  if (!Number.isSafeInteger(size) || size <= 0)
    throw migrateErrors.incomplete({ what: `video ${uid}`, reason: "the source does not report the size of its file" });
  return size;
}

/** Resolves with the upload of an earlier run, if it can be continued. */
async function resumable(
  { state, ids }: Context,
  { uid }: V4Video,
  size: number,
): Promise<{ url: string; offset: number } | undefined> {
  const stored = state.get(uploadKey(uid))?.upload;
  if (stored === undefined) return undefined;
  const offset = await offsetAt(stored.url);
  if (offset === undefined) return undefined;
  if (stored.size !== size)
    throw migrateErrors.uploadChanged({ what: `video ${uid}`, before: stored.size, after: size });
  ids.set("video", uid, state.idOf(uploadKey(uid)) ?? uid);
  return { url: stored.url, offset };
}

const uploadKey = (uid: string) => `upload ${uid}`;

async function create(
  context: Context,
  { video, source, size, settings }: { video: V4Video; source: VideoSource; size: number; settings: VideoSettings },
): Promise<{ url: string; offset: number }> {
  const { target, paths, ids, state } = context;
  const { uid } = video;
  const watermark = (await source.isOriginal()) ? ids.find("watermark", video.watermark?.uid ?? "") : undefined;
  // Access rules apply from the beginning: the video must never be public, even for a moment.
  const metadata = Object.entries({
    name: String(settings.meta["name"] ?? uid),
    thumbnailtimestamppct: String(settings.thumbnailTimestampPct),
    ...(settings.allowedOrigins.length > 0 && { allowedorigins: settings.allowedOrigins.join(",") }),
    ...(watermark !== undefined && { watermark }),
  }).map(([key, value]) => `${key} ${Buffer.from(value).toString("base64")}`);
  if (settings.requireSignedURLs) metadata.push("requiresignedurls");
  const response = await target.api.raw("POST", `${paths.target}/stream`, {
    headers: {
      ...TUS,
      ...idHeader(context, uid),
      "upload-length": String(size),
      "upload-metadata": metadata.join(","),
    },
  });
  await response.body?.cancel();
  const [location, newUid] = [response.headers.get("location"), response.headers.get("stream-media-id")];
  if (location === null || newUid === null)
    throw migrateErrors.incomplete({ what: `video ${uid}`, reason: "the server returned no upload URL" });
  const url = new URL(location, target.api.url).href;
  state.put([[uploadKey(uid), { id: newUid, upload: { url, size } }]]);
  ids.set("video", uid, newUid);
  return { url, offset: 0 };
}

interface Sending {
  url: string;
  size: number;
  offset: number;
  source: VideoSource;
  video: V4Video;
}

async function sendAll(
  { clock, signal }: Context,
  { url, size, offset: start, source, video }: Sending,
  progress: ItemProgress,
): Promise<void> {
  let offset = start;
  let failures = 0;
  while (offset < size) {
    signal?.throwIfAborted();
    const end = Math.min(offset + CHUNK_BYTES, size);
    const next = await sendChunk(url, source, offset, end).catch((thrown: unknown) => {
      if (++failures > MAX_FAILURES)
        throw migrateErrors.incomplete({ what: `video ${video.uid}`, reason: reasonOf(thrown) }, { cause: thrown });
      return undefined;
    });
    if (next !== undefined && next > offset) {
      progress.bytes(next - offset);
      [offset, failures] = [next, 0];
      continue;
    }
    await clock.sleep(Math.min(30_000, 250 * 2 ** failures));
    offset = (await offsetAt(url).catch(() => undefined)) ?? offset;
  }
}

const reasonOf = (thrown: unknown) => messageOf((thrown as Error).cause ?? thrown);

/** Resolves with the new offset. */
async function sendChunk(url: string, source: VideoSource, offset: number, end: number): Promise<number> {
  const response = await source.read(offset, end - 1);
  const body = slice(response, offset, end);
  const answer = await fetch(url, {
    method: "PATCH",
    headers: {
      ...TUS,
      "content-type": "application/offset+octet-stream",
      "upload-offset": String(offset),
      "content-length": String(end - offset),
    },
    body: body as unknown as NonNullable<RequestInit["body"]>,
    duplex: "half",
  } as RequestInit);
  const text = answer.ok ? "" : (await answer.text()).slice(0, 200);
  await answer.body?.cancel().catch(() => undefined);
  if (!answer.ok) throw new Error(`the upload returned status ${answer.status}: ${text}`);
  return Number(answer.headers.get("upload-offset"));
}

/** Reads the bytes of a range. A server without range support sends the whole file. */
export async function* slice(response: Response, start: number, end: number): AsyncGenerator<Uint8Array> {
  let position = response.status === 206 ? start : 0;
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    const from = Math.max(0, start - position);
    const to = Math.min(piece.length, end - position);
    if (to > from) yield piece.subarray(from, to);
    position += piece.length;
    if (position >= end) return;
  }
}

/** Undefined if the upload no longer exists. */
async function offsetAt(url: string): Promise<number | undefined> {
  const response = await fetch(url, { method: "HEAD", headers: TUS });
  if (response.status === 404 || response.status === 410) return undefined;
  const offset = response.headers.get("upload-offset");
  if (!response.ok || offset === null) throw new Error(`the upload returned status ${response.status}`);
  return Number(offset);
}
