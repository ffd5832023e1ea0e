import type { CutSegment } from "../timeline.ts";
import type { LiveFragment, LiveRendition, LiveRun } from "../fragments.ts";
import { createBroadcast } from "./broadcast.ts";
import { mediaPlaylist, type PlaylistRange } from "./playlists.ts";
import { readPlaylist } from "./read-playlist.testing.ts";

export const SOURCE: LiveRendition = {
  name: "source",
  kind: "video",
  codecs: "avc1.64000d",
  peakBandwidth: 900_000,
  averageBandwidth: 700_000,
  width: 320,
  height: 180,
  frameRate: 25,
};
export const SMALL: LiveRendition = {
  name: "90p",
  kind: "video",
  codecs: "avc1.64000b",
  peakBandwidth: 300_000,
  averageBandwidth: 200_000,
  width: 160,
  height: 90,
  frameRate: 25,
};
export const AUDIO_RENDITION: LiveRendition = {
  name: "audio",
  kind: "audio",
  codecs: "mp4a.40.2",
  peakBandwidth: 70_000,
  averageBandwidth: 64_000,
  channels: 2,
};

/** Names of the renditions of a test broadcast. */
export const RENDITION_NAMES = [SOURCE, SMALL, AUDIO_RENDITION].map(({ name }) => name);

export const runOf = (number: number, over: Partial<LiveRun> = {}): LiveRun => ({
  id: String(number).padStart(32, "0"),
  started: Date.UTC(2026, 10, 23) + number * 100_000,
  renditions: [SOURCE, SMALL, AUDIO_RENDITION],
  keyFrames: "source",
  ...over,
});

/** Returns consecutive fragments of one rendition with the given `key` flags; each has unique bytes. */
export function fragmentsOf(
  rendition: string,
  durations: readonly number[],
  isKey: (time: number, index: number) => boolean,
  { from = 0, label = "" } = {},
): LiveFragment[] {
  let time = from;
  return durations.map((duration, index) => {
    const end = Math.round((time + duration) * 1e6) / 1e6;
    const fragment = {
      rendition,
      time,
      duration,
      key: isKey(time, index),
      bytes: Buffer.from(`${label}${rendition}:${index};`),
      ...(rendition !== "audio" && index + 1 < durations.length && isKey(end, index + 1) && { nextKey: end }),
    };
    time = end;
    return fragment;
  });
}

/** Creates a broadcast of the three renditions; `playlist` writes one of its playlists and parses it. */
export function createTestBroadcast({ segmentSeconds = 2, partSeconds = 0.333 } = {}) {
  const cuts: CutSegment[] = [];
  const broadcast = createBroadcast({
    video: "f".repeat(32),
    segmentSeconds,
    partSeconds,
    onSegment: (cut) => cuts.push(cut),
    onEnd() {},
  });
  const playlist = (rendition = "source", extent: PlaylistRange = { range: "window", lowLatency: true }) =>
    readPlaylist(
      mediaPlaylist(
        { timeline: broadcast.timeline(), recent: broadcast.recent },
        rendition,
        extent,
        { targetDuration: broadcast.targetDuration, partTarget: broadcast.partTargets.of(rendition), dvrSeconds: 60 },
        { others: RENDITION_NAMES.filter((name) => name !== rendition), query: "?protocol=llhls" },
      ).text,
    );
  return { broadcast, cuts, playlist };
}

/** Sorts fragments by arrival: by end time, delayed by the seconds in `delays` for their rendition. */
export const inOrderOfArrival = (fragments: LiveFragment[], delays: Record<string, number>) =>
  fragments
    .map((one, index) => ({ one, index, ready: one.time + one.duration + (delays[one.rendition] ?? 0) }))
    .sort((a, b) => a.ready - b.ready || a.index - b.index)
    .map(({ one }) => one);
/** Durations of equal fragments, `length` seconds each. */
export const equalDurations = (seconds: number, length: number) =>
  Array.from({ length: Math.round(seconds / length) }, () => length);
/** True for a key frame at every multiple of `seconds`. */
export const keyFrameEvery = (seconds: number) => (time: number) =>
  Math.abs(time / seconds - Math.round(time / seconds)) < 1e-6;
