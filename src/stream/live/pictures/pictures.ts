import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type Clock, UserError } from "../../../kernel/index.ts";
import type { DeliveryRoute, DeliveryContext } from "../../delivery/index.ts";
import { streamErrors } from "../../errors.ts";
import { MediaRunError, type MediaTools } from "../../media/index.ts";
import type { MediaModel } from "../../model.ts";
import { createScratch } from "../../scratch.ts";
import { createImageQueue, createStills, type ImageRequest, readImageRequest } from "../../thumbnails/index.ts";
import type { Video } from "../../videos/index.ts";
import type { Broadcast } from "../package/broadcast.ts";
import { segmentInMemory } from "../package/pieces.ts";
import type { LiveTimeline } from "../timeline.ts";
import { durationOf, type TimelinePosition, positionAt, positionBefore, segmentsFrom } from "./timeline-position.ts";

interface LiveThumbnailsDeps {
  tools: MediaTools;
  packages: { of(video: string): Pick<Broadcast, "timeline" | "init" | "recent"> | undefined };
  recordings: {
    timeline(video: string): Promise<LiveTimeline | undefined>;
    /** Returns a segment, or the init segment of a run. */
    stored(
      video: string,
      rendition: string,
      segmentOrRun: number | { run: string },
    ): Promise<{ bytes(): Promise<Buffer> } | undefined>;
  };
  /** True if broadcasts of an input are recorded. Default: always true. */
  isRecorded?(input: string): Promise<boolean>;
  /** For temporary files while rendering. */
  folder: string;
  clock: Pick<Clock, "now">;
}

/** Thumbnails of broadcasts, and of recordings that have no file yet. */
export interface LiveThumbnails {
  /**
   * Wraps the routes: `thumbnails/thumbnail.jpg` and `.gif` of such videos are rendered here. Without `time` they show
   * the live edge.
   */
  wrap(routes: readonly DeliveryRoute[]): DeliveryRoute[];
}

const GIF_PATH = "thumbnails/thumbnail.gif";
const THUMBNAIL_PATHS = new Set(["thumbnails/thumbnail.jpg", GIF_PATH]);
/** Maximum age of the live thumbnail. All requests within this time get the same image. */
const FRESH_IMAGE_MS = 5000;
/** Maximum age of the live thumbnail while newer frames cannot be decoded. */
const STALE_MS = 60_000;
/** Cache time of images for moments that no longer change. */
const CACHE_SECONDS = 3600;
const MAX_CACHED_IMAGES = 300;
const MAX_CACHED_OCTETS = 32 * 1024 * 1024;
/**
 * If no frame can be decoded, decoding starts this many segments earlier: a segment has no key frame if the source
 * sends them rarely.
 */
const EARLIER_SEGMENTS = [0, 1, 5];
/** Larger segments are not read for an image: a segment at the highest bitrate has a tenth of this size. */
const MAX_SEGMENT_OCTETS = 128 * 1024 * 1024;

export function createLiveThumbnails({
  tools,
  packages,
  recordings,
  isRecorded = async () => true,
  folder,
  clock,
}: LiveThumbnailsDeps): LiveThumbnails {
  const scratch = createScratch(folder);
  const stills = createStills({ tools, objects: { leaseFile: async (path) => ({ path, release: () => {} }) } });
  const queue = createImageQueue();
  const imageCache = createImageCache({ most: MAX_CACHED_IMAGES, octets: MAX_CACHED_OCTETS });

  /**
   * A running broadcast is read from this process; after its end the recording is used, which may have fewer segments.
   */
  async function timelineOf(video: string): Promise<LiveTimeline | undefined> {
    const packagedTimeline = packages.of(video)?.timeline();
    if (packagedTimeline?.ended === false) return packagedTimeline;
    return (await recordings.timeline(video)) ?? packagedTimeline;
  }

  /** Memory comes first: a segment is announced before it has been stored. */
  async function octetsOf(
    video: string,
    rendition: string,
    segmentOrRun: number | { run: string },
  ): Promise<readonly Buffer[] | undefined> {
    const broadcast = packages.of(video);
    const parts = broadcast === undefined ? [] : segmentInMemory(broadcast, rendition, segmentOrRun);
    if (parts.length > 0) return parts;
    const storedBytes = await (await recordings.stored(video, rendition, segmentOrRun))?.bytes();
    return storedBytes && [storedBytes];
  }

  async function drawImage(timeline: LiveTimeline, position: TimelinePosition, image: ImageRequest): Promise<Buffer> {
    let decodedFrom: TimelinePosition | undefined;
    for (const segments of EARLIER_SEGMENTS) {
      const from = positionBefore(timeline, position, segments);
      if (from.n === decodedFrom?.n) break;
      decodedFrom = from;
      const bytes = await drawFrom(timeline, from, image);
      if (bytes !== undefined) return bytes;
    }
    throw streamErrors.imageFailed({ reason: "its frames cannot be decoded at this position" });
  }

  /** Undefined if no frame can be decoded. */
  async function drawFrom(
    timeline: LiveTimeline,
    position: TimelinePosition,
    image: ImageRequest,
  ): Promise<Buffer | undefined> {
    const { run, rendition, offset } = position;
    const { segments, duration } = segmentsFrom(timeline, position, image.motion?.duration ?? 0.001);
    const pieces: Buffer[] = [];
    for (const segmentOrRun of [{ run: run.id }, ...segments]) {
      const parts = await octetsOf(timeline.video, rendition.name, segmentOrRun);
      if (parts === undefined) throw streamErrors.imageFailed({ reason: "this part is not stored" });
      pieces.push(...parts);
      if (pieces.reduce((sum, { length }) => sum + length, 0) > MAX_SEGMENT_OCTETS)
        throw streamErrors.imageFailed({ reason: "this part is too large" });
    }
    const { path: workPath, remove } = await scratch.create("picture");
    const path = join(workPath, "segment.mp4");
    try {
      await writeFile(path, pieces, { mode: 0o600 });
      return await stills.thumbnail(modelOf(path, rendition, Math.max(duration, offset + 0.04)), {
        ...image,
        time: offset,
      });
    } catch (err) {
      if (isUndecodable(err)) return undefined;
      throw err;
    } finally {
      await remove();
    }
  }

  async function thumbnail(
    { video, query, sendObject }: DeliveryContext,
    timeline: LiveTimeline,
    isAnimated: boolean,
  ): Promise<void> {
    const largest = timeline.runs
      .flatMap(({ renditions }) => renditions)
      .filter(({ kind }) => kind === "video")
      .sort((a, b) => (b.height ?? 0) - (a.height ?? 0))[0];
    if (largest === undefined) throw streamErrors.noPictures();
    const now = !timeline.ended && !query.has("time");
    const duration = durationOf(timeline);
    const size = { width: largest.width ?? 16, height: largest.height ?? 9 };
    const image = readImageRequest(query, size, {
      duration,
      defaultTime: timeline.ended ? video.thumbnailTimestampPct * duration : duration,
      isAnimated,
    });
    const { motion } = image;
    const name = `${video.uid}/${now ? "now" : image.time}/${image.width}x${image.height}-${image.fit}${motion === undefined ? "" : `-${motion.duration}-${motion.fps}`}`;
    // A GIF of a running broadcast ends at the live edge.
    const imageTime = !now ? image.time : motion === undefined ? "latest" : Math.max(0, duration - motion.duration);
    const cacheAges = now ? { fresh: FRESH_IMAGE_MS, stale: STALE_MS } : { fresh: CACHE_SECONDS * 1000, stale: 0 };
    const bytes = await imageCache.get(name, cacheAges, clock.now(), () =>
      queue(video.uid, async () => {
        const position = positionAt(timeline, imageTime, image.height);
        if (position === undefined) throw streamErrors.noPictures();
        return drawImage(timeline, position, image);
      }),
    );
    await sendObject(
      {
        size: bytes.length,
        read: ({ start = 0, end = bytes.length - 1 } = { start: 0 }) => Readable.from([bytes.subarray(start, end + 1)]),
        memory: bytes,
      },
      { type: isAnimated ? "image/gif" : "image/jpeg", cache: now ? FRESH_IMAGE_MS / 1000 : CACHE_SECONDS },
    );
  }

  return {
    wrap: (routes) =>
      routes.map((route) =>
        !THUMBNAIL_PATHS.has(route.path)
          ? route
          : {
              ...route,
              async handle(viewing) {
                const { uid, liveInput } = viewing.video;
                if (uid === liveInput && !(await isRecorded(uid))) throw streamErrors.liveNotRecorded();
                const timeline = mayBeLive(viewing.video) ? await timelineOf(viewing.video.uid) : undefined;
                return timeline === undefined || timeline.segments.length === 0
                  ? route.handle(viewing)
                  : thumbnail(viewing, timeline, route.path === GIF_PATH);
              },
            },
      ),
  };
}

/** False if ffmpeg exceeded a limit: decoding more segments would take even longer. */
const isUndecodable = (err: unknown): boolean =>
  err instanceof UserError &&
  err.kind === "imageFailed" &&
  (!(err.cause instanceof MediaRunError) || err.cause.reason === "failed");

/** Once the recording has a file, images are generated from it, as for every other video. */
const mayBeLive = ({ liveInput, model, uid }: Video): boolean =>
  liveInput !== undefined && liveInput !== uid && model === null;

/** Model of a video file composed of an init segment and segments. */
const modelOf = (
  path: string,
  { width = 16, height = 9, peakBandwidth }: TimelinePosition["rendition"],
  duration: number,
): MediaModel => ({
  version: 1,
  duration,
  source: { key: path, format: "mov", start: 0, size: 1 },
  video: {
    stream: 0,
    codec: "h264",
    pixelFormat: "yuv420p",
    width,
    height,
    rotation: 0,
    interlaced: false,
    bitrate: peakBandwidth,
    keyframeInterval: 1,
    passthrough: false,
  },
  segments: { fps: { num: 25, den: 1 }, framesPerSegment: 100, frames: 25, count: 1 },
  ladder: [],
});

/**
 * Creates an in-memory cache of recent images. Concurrent requests for the same image share one rendering. If rendering
 * fails, an image younger than `stale` is returned (stale-if-error, RFC 5861 4).
 */
function createImageCache({ most, octets }: { most: number; octets: number }) {
  const images = new Map<string, { at: number; bytes: Buffer }>();
  const pending = new Map<string, Promise<Buffer>>();
  let size = 0;

  function forget(name: string): void {
    size -= images.get(name)?.bytes.length ?? 0;
    images.delete(name);
  }

  return {
    /** Times in milliseconds. */
    async get(
      name: string,
      { fresh, stale }: { fresh: number; stale: number },
      now: number,
      render: () => Promise<Buffer>,
    ): Promise<Buffer> {
      const cachedImage = images.get(name);
      if (cachedImage !== undefined && cachedImage.at > now - fresh) return cachedImage.bytes;
      const pendingImage = pending.get(name);
      if (pendingImage !== undefined) return pendingImage;
      const bytes = render();
      pending.set(name, bytes);
      try {
        const renderedImage = await bytes;
        forget(name);
        images.set(name, { at: now, bytes: renderedImage });
        size += renderedImage.length;
        while (images.size > most || size > octets) forget(images.keys().next().value!);
        return renderedImage;
      } catch (err) {
        const isStale = cachedImage !== undefined && cachedImage.at > now - stale;
        if (isStale && err instanceof UserError && err.kind === "imageFailed") return cachedImage.bytes;
        throw err;
      } finally {
        pending.delete(name);
      }
    },
  };
}
