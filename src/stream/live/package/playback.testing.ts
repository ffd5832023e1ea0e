import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { anyVideo, serveDelivery, type Scope } from "../../playback/playback.testing.ts";
import { streamErrors } from "../../errors.ts";
import type { TextTracks } from "../../playback/port.ts";
import type { Video } from "../../videos/video.ts";
import { clip, runFfmpeg } from "../../../../test/support/media.ts";
import { readFragments, readInit } from "../../../protocol/mp4/index.ts";
import type { LiveFragment, LiveRendition, RunSink } from "../fragments.ts";
import type { LiveTimeline, CutSegment } from "../timeline.ts";
import { SMALL, AUDIO_RENDITION, SOURCE } from "./package.testing.ts";
import { createLivePackages } from "./packages.ts";
import { createLivePlayback } from "./playback.ts";

export const INPUT = "1".repeat(32);
export const VIDEO = "2".repeat(32);
export const liveVideo = (over: Partial<Video> = {}): Video =>
  anyVideo({ uid: VIDEO, state: "live-inprogress", liveInput: INPUT, duration: -1, ...over });

export const RENDITIONS = [SOURCE, SMALL, AUDIO_RENDITION];
/** Returns a third of the second that starts at `at`; every other second begins with a key frame. */
export const fragmentAt = (rendition: string, at: number, third: number): LiveFragment => ({
  rendition,
  time: at + third / 3,
  duration: 1 / 3,
  key: rendition === "audio" || (third === 0 && at % 2 === 0),
  ...(third === 2 && at % 2 === 1 && { nextKey: at + 1 }),
  bytes: Buffer.from(`${rendition}@${at}+${third};`),
});

/** Sends the init segments and this many seconds of all renditions, in fragments of a third of a second. */
export function feed(sink: RunSink, seconds: number, { from = 0, renditions = RENDITIONS } = {}): void {
  for (const { name } of renditions) sink.init(name, Buffer.from(`init of ${name}`));
  for (let at = from; at < from + seconds; at++)
    for (const third of [0, 1, 2]) for (const { name } of renditions) sink.fragment(fragmentAt(name, at, third));
}

export async function until(met: () => boolean): Promise<void> {
  for (const began = Date.now(); !met(); await setTimeout(5))
    assert.ok(Date.now() - began < 60_000, "timed out after a minute");
}

/** URIs of the renditions or segments in a playlist. */
export const uris = (playlist: string) => playlist.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

interface LiveWorldOptions {
  segmentSeconds?: number;
  partMs?: number;
  dvrMinutes?: number;
  captions?: TextTracks;
  prefersLowLatency?: boolean;
  isRecorded?: boolean;
  /** For requests under the uid of the input. */
  inputShows?: () => Video;
}

/**
 * ffmpeg output for generated video and audio: init segments, and fragments of a fifth of a second in order of
 * availability.
 */
export async function realFragments({
  seconds,
  keyframeSeconds = 1,
}: {
  seconds: number;
  keyframeSeconds?: number;
}): Promise<{ renditions: LiveRendition[]; inits: Record<string, Buffer>; fragments: LiveFragment[] }> {
  const source = await clip({ seconds, fps: "25", keyframeSeconds });
  const outputs: Record<string, string[]> = {
    source: ["-an", "-c:v", "copy"],
    "90p": [
      "-an",
      "-vf",
      "scale=160:90",
      "-c:v",
      "libx264",
      "-preset",
      "ultrafast",
      "-pix_fmt",
      "yuv420p",
      "-g",
      String(25 * keyframeSeconds),
      "-sc_threshold",
      "0",
    ],
    audio: ["-vn", "-c:a", "copy"],
  };
  const inits: Record<string, Buffer> = {};
  const fragments: LiveFragment[] = [];
  for (const [rendition, args] of Object.entries(outputs)) {
    const bytes = await runFfmpeg([
      "-i",
      source,
      ...args,
      "-f",
      "mp4",
      "-movflags",
      "+cmaf+frag_keyframe+empty_moov+delay_moov+default_base_moof+skip_trailer",
      "-frag_duration",
      "200000",
      "-avoid_negative_ts",
      "make_zero",
      "pipe:1",
    ]);
    const first = bytes.indexOf("moof") - 4;
    inits[rendition] = bytes.subarray(0, first);
    const { timescale } = await readInit(inits[rendition]);
    const found = await readFragments(
      async (at, length) => bytes.subarray(first + at, first + at + length),
      bytes.length - first,
    );
    let from = first;
    for (const { time, durations, syncs, dataStart, dataSize } of found) {
      const to = first + dataStart + dataSize;
      fragments.push({
        rendition,
        time: time / timescale,
        duration: durations.reduce((sum, one) => sum + one, 0) / timescale,
        key: syncs[0] === 1,
        bytes: bytes.subarray(from, to),
      });
      from = to;
    }
  }
  for (const { rendition, key, time, offset = 0 } of fragments) {
    const before = fragments.findLast((one) => one.rendition === rendition && one.time < time - 0.001);
    if (rendition !== "audio" && key && before !== undefined) before.nextKey = time + offset;
  }
  const codecs = (rendition: string) =>
    `avc1.${inits[rendition]!.subarray(inits[rendition]!.indexOf("avcC") + 5).toString("hex", 0, 3)}`;
  return {
    renditions: [{ ...SOURCE, codecs: codecs("source") }, { ...SMALL, codecs: codecs("90p") }, AUDIO_RENDITION],
    inits,
    fragments: fragments.toSorted((a, b) => a.time + a.duration - b.time - b.duration),
  };
}

/**
 * Starts a server that packages one broadcast, an in-memory recording alongside it, and another server with only the
 * recording.
 */
export async function liveWorld(
  t: Scope,
  {
    segmentSeconds = 2,
    partMs = 333,
    dvrMinutes = 180,
    captions,
    prefersLowLatency = false,
    isRecorded = true,
    inputShows = liveVideo,
  }: LiveWorldOptions = {},
) {
  const packages = createLivePackages({ settings: { segment_seconds: segmentSeconds, part_ms: partMs } });
  t.after(async () => packages.close());
  const kept = new Map<string, Buffer>();
  const broadcast = packages.open(VIDEO, { onSegment: keep });
  let packager = broadcast;
  /** Number of segments that fit on the disk. */
  const storage = { segments: Infinity };

  function keep({ segment, bytes }: CutSegment): void {
    for (const [rendition, pieces] of Object.entries(bytes))
      kept.set(`${VIDEO}/${rendition}/${segment.n}`, Buffer.concat(pieces));
  }
  const parts = {
    timelineOf: async (uid: string): Promise<LiveTimeline | undefined> => {
      if (uid !== VIDEO) return undefined;
      const timeline = structuredClone(packager.timeline());
      return { ...timeline, segments: timeline.segments.slice(0, storage.segments) };
    },
    async stored(video: string, rendition: string, what: number | { run: string }) {
      if (typeof what === "number" && what >= storage.segments) return undefined;
      const bytes = kept.get(`${video}/${rendition}/${typeof what === "number" ? what : what.run}`);
      return (
        bytes && {
          size: bytes.length,
          bytes: async () => bytes,
          read: ({ start, end } = { start: 0, end: bytes.length - 1 }) =>
            Readable.from([bytes.subarray(start, (end ?? bytes.length - 1) + 1)]),
        }
      );
    },
    settings: { dvr_minutes: dvrMinutes },
    ...(captions && { captions }),
    prefersLowLatency: async () => prefersLowLatency,
    isRecorded: async () => isRecorded,
  };
  const access = {
    check: (id: string) =>
      id === VIDEO
        ? Promise.resolve(liveVideo())
        : id === INPUT
          ? Promise.resolve(inputShows())
          : Promise.reject(streamErrors.videoNotFound({ uid: id })),
  };
  const playback = createLivePlayback({ packages, ...parts });
  const origin = await serveDelivery(t, { videos: [], access, routes: playback.overrideRoutes([]) });
  const elsewhere = await serveDelivery(t, {
    videos: [],
    access,
    routes: createLivePlayback({ packages: { of: () => undefined }, ...parts }).overrideRoutes([]),
  });

  const getFrom =
    (server: string) =>
    async (path: string, id = VIDEO) => {
      const response = await fetch(`${server}/${id}/${path}`, { signal: AbortSignal.timeout(60_000) });
      const body = Buffer.from(await response.arrayBuffer());
      return {
        status: response.status,
        body,
        text: body.toString(),
        headers: response.headers,
        cache: response.headers.get("cache-control"),
      };
    };
  const taken = (by: typeof broadcast) => void (packager = by);
  return {
    packages,
    broadcast,
    taken,
    storage,
    playback,
    origin,
    elsewhere,
    get: getFrom(origin),
    getElsewhere: getFrom(elsewhere),
  };
}
