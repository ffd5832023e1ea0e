import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clip, type ClipRecipe, runFfmpeg } from "../../../test/support/media.ts";
import { createLog } from "../../kernel/index.ts";
import { openFsObjects, type ObjectStore } from "../../store/index.ts";
import type { Access } from "../access/port.ts";
import { createDelivery } from "../delivery/delivery.ts";
import type { DeliveryRoute } from "../delivery/route.ts";
import { type Segments, segmentKey } from "../encode/port.ts";
import { streamErrors } from "../errors.ts";
import { type MediaModel, MAIN_AUDIO, type VideoRendition } from "../model.ts";
import type { Video } from "../videos/video.ts";
import { createPlayback } from "./playback.ts";
import type { PlaybackTracks } from "./port.ts";

export interface Scope {
  after(end: () => Promise<void>): void;
}

export const UID = "0123456789abcdef0123456789abcdef";

export const anyVideo = (over: Partial<Video> = {}): Video => ({
  uid: UID,
  account: "a".repeat(32),
  creator: null,
  state: "ready",
  pctComplete: 100,
  meta: {},
  created: 0,
  modified: 0,
  uploaded: 0,
  readyToStream: true,
  readyToStreamAt: 0,
  scheduledDeletion: null,
  size: 1,
  allowedOrigins: [],
  requireSignedURLs: false,
  uploadExpiry: null,
  maxSizeBytes: null,
  maxDurationSeconds: null,
  duration: 10,
  input: { width: 320, height: 180 },
  thumbnailTimestampPct: 0,
  watermark: null,
  publicDetails: { title: null, share_link: null, channel_link: null, logo: null },
  sourceKey: null,
  model: null,
  ...over,
});

const RUNGS: VideoRendition[] = [
  { name: "90p", codec: "h264", width: 160, height: 90, bitrate: 200_000 },
  { name: "180p", codec: "h264", width: 320, height: 180, bitrate: 400_000 },
];

/** Returns ten seconds at 29.97 frames per second: two segments of 4.004 s, and one with the rest. */
export const ntscModel = (over: Partial<MediaModel> = {}): MediaModel => ({
  version: 1,
  duration: 10.01,
  source: { key: "stream/x/source", format: "mov", start: 0, size: 1 },
  video: {
    stream: 0,
    codec: "h264",
    pixelFormat: "yuv420p",
    width: 320,
    height: 180,
    rotation: 0,
    interlaced: false,
    bitrate: 400_000,
    keyframeInterval: 2,
    passthrough: false,
  },
  audio: { stream: 1, codec: "aac", channels: 2, sampleRate: 48_000, passthrough: false },
  segments: { fps: { num: 30_000, den: 1001 }, framesPerSegment: 120, frames: 300, count: 3 },
  ladder: RUNGS,
  ...over,
});

/** Serves `routes`, or playback, on a loopback port. `videos` are public. */
export async function serveDelivery(
  t: Scope,
  {
    videos,
    routes,
    access,
    domain,
  }: { videos: readonly Video[]; routes: readonly DeliveryRoute[]; access?: Access; domain?: string },
): Promise<string> {
  const log = createLog({ level: "silent" });
  const open: Access = {
    check(id) {
      const video = videos.find(({ uid }) => uid === id);
      return video === undefined ? Promise.reject(streamErrors.videoNotFound({ uid: id })) : Promise.resolve(video);
    },
  };
  const delivery = createDelivery({
    routes,
    access: access ?? open,
    log,
    ...(domain !== undefined && { domain }),
    address: () => "127.0.0.1",
    origin: (request) => `http://${request.headers.host}`,
  });
  const server = createServer((request, response) => {
    void delivery.handle(request, response).then((answered) => {
      if (!answered) response.writeHead(404).end("elsewhere");
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function emptyObjects(t: Scope): Promise<ObjectStore> {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-playback-"));
  t.after(async () => rmSync(folder, { recursive: true, force: true }));
  return openFsObjects({ folder });
}

export const storedSegments = (objects: ObjectStore): Pick<Segments, "get" | "follow"> => {
  const open: Segments["get"] = (video, rendition, segment) => objects.open(segmentKey(video.uid, rendition, segment));
  return { get: open, follow: open };
};

/**
 * Serves a video whose segments were all created by ffmpeg's own HLS muxer, with the segment boundaries of `ntscModel`.
 * `tracks` are its captions and additional audio tracks.
 */
export async function serveVideo(
  t: Scope,
  {
    tracks = {},
    video = {},
    model = {},
    recipe = {},
  }: { tracks?: PlaybackTracks; video?: Partial<Video>; model?: Partial<MediaModel>; recipe?: ClipRecipe } = {},
): Promise<{ origin: string; objects: ObjectStore }> {
  const objects = await emptyObjects(t);
  const source = await clip({ seconds: 10.01, fps: "30000/1001", ...recipe });
  const whole = ntscModel(model);
  for (const { name, width, height } of whole.ladder) {
    await encode(objects, name, [
      "-i",
      source,
      "-an",
      "-vf",
      `scale=${width}:${height}`,
      "-c:v",
      "libx264",
      "-preset",
      "ultrafast",
      "-profile:v",
      "high",
      "-pix_fmt",
      "yuv420p",
      "-g",
      "120",
      "-keyint_min",
      "120",
      "-sc_threshold",
      "0",
      "-bf",
      "0",
      "-frames:v",
      String(whole.segments.frames),
    ]);
  }
  if (whole.audio !== undefined)
    await encode(objects, MAIN_AUDIO, ["-i", source, "-vn", "-c:a", "aac", "-b:a", "64k", "-ac", "2", "-ar", "48000"]);
  const origin = await serveDelivery(t, {
    videos: [anyVideo({ model: whole, ...video })],
    routes: createPlayback({ segments: storedSegments(objects), ...tracks }),
  });
  return { origin, objects };
}

async function encode(objects: ObjectStore, rendition: string, args: string[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-encode-"));
  try {
    await runFfmpeg([
      ...args,
      "-f",
      "hls",
      "-hls_segment_type",
      "fmp4",
      "-hls_time",
      "4",
      "-hls_list_size",
      "0",
      "-hls_flags",
      "independent_segments",
      "-start_number",
      "0",
      "-hls_fmp4_init_filename",
      "init.mp4",
      "-hls_segment_filename",
      join(folder, "%d.m4s"),
      join(folder, "list.m3u8"),
    ]);
    for (const name of readdirSync(folder).filter((file) => !file.endsWith(".m3u8"))) {
      await objects.put(
        segmentKey(UID, rendition, name === "init.mp4" ? "init" : Number.parseInt(name, 10)),
        readFileSync(join(folder, name)),
        { durable: false },
      );
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
