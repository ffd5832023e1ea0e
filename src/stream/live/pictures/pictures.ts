import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Clock } from "../../../kernel/index.ts";
import type { DeliveryRoute, Viewing } from "../../delivery/route.ts";
import { streamErrors } from "../../errors.ts";
import type { MediaTools } from "../../media/port.ts";
import type { MediaModel } from "../../model.ts";
import { createScratch } from "../../scratch.ts";
import { createStills } from "../../thumbnails/stills.ts";
import { createImageTurns } from "../../thumbnails/turns.ts";
import { readWish, type Wish } from "../../thumbnails/wish.ts";
import type { Video } from "../../videos/video.ts";
import type { LiveTimeline } from "../timeline.ts";
import { durationOf, type Moment, momentOf } from "./moment.ts";

export interface LivePicturesParts {
  tools: MediaTools;
  timelineOf(video: string): Promise<LiveTimeline | undefined>;
  /** One segment, or the initialisation segment of a run. */
  stored(video: string, rendition: string, what: number | { run: string }): Promise<{ bytes(): Promise<Buffer> } | undefined>;
  /** For files while a picture is made of them. */
  folder: string;
  clock: Pick<Clock, "now">;
}

/** Pictures of what is being broadcast, and of its recording until there is a file of it. */
export interface LivePictures {
  /** The same routes; `thumbnails/thumbnail.jpg` of such videos is made here: without `time` it shows what is on now. */
  over(routes: readonly DeliveryRoute[]): DeliveryRoute[];
}

/** How old the picture of now may be. It is the same for everybody who asks in that time. */
const FRESH_MS = 5000;
/** Of moments that will not change. */
const CACHE_S = 3600;
const MOST_KEPT = 300;
const MOST_OCTETS = 32 * 1024 * 1024;
/** What is longer is not read for a picture: a segment of the highest bitrate has a tenth of it. */
const LARGEST_SEGMENT = 128 * 1024 * 1024;

export function createLivePictures({ tools, timelineOf, stored, folder, clock }: LivePicturesParts): LivePictures {
  const scratch = createScratch(folder);
  const stills = createStills({ tools, objects: { file: async (path) => path } });
  const turns = createImageTurns();
  const kept = createKept({ most: MOST_KEPT, octets: MOST_OCTETS });

  async function draw(video: string, { run, rendition, n, offset }: Moment, wish: Wish): Promise<Buffer> {
    const pieces = await Promise.all([stored(video, rendition.name, { run: run.id }), stored(video, rendition.name, n)]);
    const [init, segment] = await Promise.all(pieces.map((piece) => piece?.bytes()));
    if (init === undefined || segment === undefined || segment.length > LARGEST_SEGMENT) throw streamErrors.imageFailed({ reason: "this part of it is not kept" });
    const { path: work, remove } = await scratch.make("picture");
    const path = join(work, "segment.mp4");
    try {
      await writeFile(path, [init, segment], { mode: 0o600 });
      return await stills.thumbnail(modelOf(path, rendition, offset), { ...wish, time: offset });
    } finally {
      await remove();
    }
  }

  async function thumbnail({ video, query, sendObject }: Viewing, timeline: LiveTimeline): Promise<void> {
    const largest = timeline.runs.flatMap(({ renditions }) => renditions).filter(({ kind }) => kind === "video").sort((a, b) => (b.height ?? 0) - (a.height ?? 0))[0];
    if (largest === undefined) throw streamErrors.noPictures();
    const now = !timeline.ended && !query.has("time");
    const duration = durationOf(timeline);
    const size = { width: largest.width ?? 16, height: largest.height ?? 9 };
    const wish = readWish(query, size, { duration, defaultTime: timeline.ended ? video.thumbnailTimestampPct * duration : duration, moving: false });
    const name = `${video.uid}/${now ? "now" : wish.time}/${wish.width}x${wish.height}-${wish.fit}`;
    const bytes = await kept.get(name, clock.now() - (now ? FRESH_MS : CACHE_S * 1000), clock.now(), () => turns.take(video.uid, async () => {
      const moment = momentOf(timeline, now ? "latest" : wish.time, wish.height);
      if (moment === undefined) throw streamErrors.noPictures();
      return draw(video.uid, moment, wish);
    }));
    await sendObject({ size: bytes.length, read: ({ start = 0, end = bytes.length - 1 } = { start: 0 }) => Readable.from([bytes.subarray(start, end + 1)]), memory: bytes }, { type: "image/jpeg", cache: now ? FRESH_MS / 1000 : CACHE_S });
  }

  return {
    over: (routes) => routes.map((route) => (route.path !== "thumbnails/thumbnail.jpg" ? route : {
      ...route,
      async handle(viewing) {
        const timeline = mayBeLive(viewing.video) ? await timelineOf(viewing.video.uid) : undefined;
        return timeline === undefined || timeline.segments.length === 0 ? route.handle(viewing) : thumbnail(viewing, timeline);
      },
    })),
  };
}

/** Once there is a file of the recording, pictures are made of that, as of every video. */
const mayBeLive = ({ liveInput, model, uid }: Video): boolean => liveInput !== undefined && liveInput !== uid && model === null;

/** A segment with its initialisation segment, as a video of its own. */
const modelOf = (path: string, { width = 16, height = 9, peakBandwidth }: Moment["rendition"], offset: number): MediaModel => ({
  version: 1, duration: offset + 1, source: { key: path, format: "mov", start: 0, size: 1 },
  video: { stream: 0, codec: "h264", pixelFormat: "yuv420p", width, height, rotation: 0, interlaced: false, bitrate: peakBandwidth, keyframeInterval: 1, passthrough: false },
  segments: { fps: { num: 25, den: 1 }, framesPerSegment: 100, frames: 25, count: 1 }, ladder: [],
});

/** The last images, in memory; those that are asked for at the same time are made once. */
function createKept({ most, octets }: { most: number; octets: number }) {
  const images = new Map<string, { at: number; bytes: Buffer }>();
  const making = new Map<string, Promise<Buffer>>();
  let size = 0;

  function forget(name: string): void {
    size -= images.get(name)?.bytes.length ?? 0;
    images.delete(name);
  }

  return {
    async get(name: string, since: number, now: number, make: () => Promise<Buffer>): Promise<Buffer> {
      const known = images.get(name);
      if (known !== undefined && known.at > since) return known.bytes;
      const under = making.get(name);
      if (under !== undefined) return under;
      const bytes = make();
      making.set(name, bytes);
      try {
        const made = await bytes;
        forget(name);
        images.set(name, { at: now, bytes: made });
        size += made.length;
        while (images.size > most || size > octets) forget(images.keys().next().value!);
        return made;
      } finally {
        making.delete(name);
      }
    },
  };
}
