import { audioTracksOf } from "../kinds/audio-tracks.ts";
import { readAudioRendition } from "../kinds/hls-audio.ts";
import { createVideoSource, type VideoSource } from "../kinds/video-source.ts";
import { sizeIn, slice } from "../kinds/video-upload.ts";
import type { V4Video } from "../kinds/video.ts";
import { videosOf } from "../kinds/videos.ts";
import { imageOf, type Profile } from "../kinds/watermarks.ts";
import { captionsOf } from "../kinds/captions.ts";
import type { ItemProgress, PlannedItem } from "../port.ts";
import { apiPath, collect } from "../requests.ts";
import { listItem, saveResult, unlessUnavailable, type ExportContext } from "./export-context.ts";
import { apiFile, audioFile, captionsFile, videoFileIn, videoFolder, watermarkFile } from "./layout.ts";

const CHUNK_BYTES = 32 * 1024 * 1024;
const SIGNATURE_BYTES = 8;

/** Plans the export of videos with their files, captions, chapters and audio tracks, and of the settings of Stream. */
export async function exportStream(context: ExportContext): Promise<PlannedItem[]> {
  const { source, paths, files } = context;
  const path = `${paths.source}/stream`;
  const videos = await unlessUnavailable(context, path, videosOf(source.api, paths.source));
  if (videos === undefined) return [];
  return [
    {
      ...listItem("Stream", "settings"),
      async apply() {
        await files.writeJson(apiFile(path), videos);
        await exportStreamSettings(context);
      },
    },
    ...videos.map((video): PlannedItem => ({
      kind: "video",
      key: `video ${video.uid}`,
      name: `${String(video.meta?.["name"] ?? "")} ${video.uid}`.trim(),
      action: "new",
      ...(video.size !== undefined && video.size > 0 && { bytes: video.size }),
      apply: (progress) => exportVideo(context, video, progress),
    })),
  ];
}

async function exportStreamSettings(context: ExportContext): Promise<void> {
  const { paths, files } = context;
  // Private keys and the secret of the webhook stay on the server.
  await saveResult(context, `${paths.source}/stream/keys`, {
    edit: (keys) => (keys as { id: string; created?: string }[]).map(({ id, created }) => ({ id, created })),
  });
  await saveResult(context, `${paths.source}/stream/webhook`, {
    edit: (webhook) => {
      const { secret: _, ...shown } = (webhook ?? {}) as Record<string, unknown>;
      return shown;
    },
  });
  const profiles = await saveResult<Profile[]>(context, `${paths.source}/stream/watermarks`);
  for (const { uid } of profiles ?? []) {
    const image = files.find(watermarkFile(uid)) === undefined ? await imageOf(context, uid) : undefined;
    if (image !== undefined) await files.write(watermarkFile(uid), [image]);
  }
  context.count("watermark profile", profiles?.length ?? 0);
}

async function exportVideo(context: ExportContext, video: V4Video, progress: ItemProgress): Promise<void> {
  const { source, paths, files } = context;
  const { uid } = video;
  const path = `${paths.source}/stream${apiPath`/${uid}`}`;
  await files.writeJson(`${videoFolder(uid)}/video.json`, video);
  await saveResult(context, `${path}/chapters`);
  await saveResult(context, `${path}/captions`);
  for (const language of await captionsOf(source.api, paths.source, uid)) {
    const response = await source.api.raw("GET", `${path}/captions${apiPath`/${language}`}/vtt`);
    await files.write(captionsFile(uid, language), [await response.text()]);
  }
  if (video.readyToStream === true) {
    await exportVideoFile(context, video, progress);
    await saveResult(context, `${path}/audio`);
    for (const { label } of await audioTracksOf(source.api, paths.source, uid)) {
      if (files.find(audioFile(uid, label)) !== undefined) continue;
      const track = await readAudioRendition(context, video, label);
      if (track === undefined) progress.warn(`its audio track "${label}" is not part of its HLS playlist`);
      else await files.write(audioFile(uid, label), [track]);
    }
  } else progress.warn(`it has no file: its state is ${video.status.state}`);
  context.count("video", 1);
}

async function exportVideoFile(context: ExportContext, video: V4Video, progress: ItemProgress): Promise<void> {
  const { files } = context;
  const folder = videoFolder(video.uid);
  if (videoFileIn(files.list(folder)) !== undefined) return;
  const source = createVideoSource(context, video);
  try {
    const first = await source.read(0, SIGNATURE_BYTES - 1);
    const size = sizeIn(first, video);
    const start = Buffer.concat(await collect(slice(first, 0, SIGNATURE_BYTES)), SIGNATURE_BYTES);
    const isOriginal = await source.isOriginal();
    const name = isOriginal ? `original.${extensionOf(first, start)}` : "download.mp4";
    await files.write(`${folder}/${name}`, bytesOf(context, source, size, progress));
    if (!isOriginal)
      progress.warn("the server does not return the uploaded file: its MP4 download was exported instead");
  } finally {
    await source.close();
  }
}

/** Reads the file in ranges, so that no request lasts longer than its token. */
async function* bytesOf(
  { signal }: ExportContext,
  source: VideoSource,
  size: number,
  progress: ItemProgress,
): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < size; offset += CHUNK_BYTES) {
    signal?.throwIfAborted();
    const end = Math.min(offset + CHUNK_BYTES, size);
    let received = 0;
    for await (const piece of slice(await source.read(offset, end - 1), offset, end)) {
      received += piece.length;
      progress.bytes(piece.length);
      yield piece;
    }
    if (received !== end - offset) throw new Error(`the server sent ${received} of ${end - offset} bytes`);
  }
}

/**
 * Returns the extension from the file name that the server proposes (RFC 6266), or else from the signature of the
 * container.
 */
function extensionOf(response: Response, start: Buffer): string {
  const disposition = response.headers.get("content-disposition") ?? "";
  const extension = /filename="[^"]*\.([a-z0-9]{1,5})"/i.exec(disposition)?.[1]?.toLowerCase() ?? "bin";
  if (extension !== "bin") return extension;
  // ISO/IEC 14496-12 4.3 and RFC 8794 11.2.1.
  if (start.toString("latin1", 4, 8) === "ftyp") return "mp4";
  return start.readUInt32BE(0) === 0x1a45dfa3 ? "mkv" : "bin";
}

/** Plans the export of live inputs with their keys and outputs. */
export async function exportLive(context: ExportContext): Promise<PlannedItem[]> {
  const path = `${context.paths.source}/stream/live_inputs`;
  return [
    {
      ...listItem("live inputs"),
      async apply() {
        const list = await saveResult<{ liveInputs: { uid: string }[] }>(context, path);
        for (const { uid } of list?.liveInputs ?? []) {
          await saveResult(context, `${path}${apiPath`/${uid}`}`);
          await saveResult(context, `${path}${apiPath`/${uid}`}/outputs`);
        }
        context.count("live input", list?.liveInputs.length ?? 0);
      },
    },
  ];
}
