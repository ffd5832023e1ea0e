import type { LiveRendition } from "../fragments.ts";
import type { LiveSegment, LiveTimeline, LiveTimelineRun } from "../timeline.ts";

/** Location of a moment in a broadcast. */
export interface TimelinePosition {
  run: LiveTimelineRun;
  /** Rendition to take the image from. */
  rendition: LiveRendition;
  n: number;
  /** Seconds from the beginning of the segment. */
  offset: number;
}

/** Returns the total playback duration in seconds, without gaps between runs. */
export const durationOf = ({ segments, runs }: LiveTimeline): number =>
  segments.reduce((sum, segment) => sum + secondsOf(segment, runs[segment.run]!), 0);

/**
 * `time` in seconds from the beginning of the broadcast; "latest": the beginning of the newest segment, which is a key
 * frame. Undefined if the broadcast has no video. Selects the smallest rendition with at least `height` lines, to read
 * less data.
 */
export function positionAt(
  timeline: LiveTimeline,
  time: number | "latest",
  height: number,
): TimelinePosition | undefined {
  const { runs, segments } = timeline;
  const last = segments.findLast((segment) => videoRenditionOf(segment, runs[segment.run]!, height) !== undefined);
  if (last === undefined) return undefined;
  let [found, offset] = [last, time === "latest" ? 0 : secondsOf(last, runs[last.run]!)];
  let begin = 0;
  for (const segment of time === "latest" ? [] : segments) {
    const seconds = secondsOf(segment, runs[segment.run]!);
    if (Number(time) < begin + seconds && videoRenditionOf(segment, runs[segment.run]!, height) !== undefined) {
      [found, offset] = [segment, Math.max(0, Number(time) - begin)];
      break;
    }
    begin += seconds;
  }
  const run = runs[found.run]!;
  return { run, rendition: videoRenditionOf(found, run, height)!, n: found.n, offset };
}

/** Returns the same moment, as an offset in a segment up to `count` segments earlier of the same run and rendition. */
export function positionBefore(
  { segments }: LiveTimeline,
  position: TimelinePosition,
  count: number,
): TimelinePosition {
  const { rendition } = position;
  const found = segments.findIndex(({ n }) => n === position.n);
  let earlier = position;
  for (const segment of segments.slice(Math.max(0, found - count), found).toReversed()) {
    const length = segment.durations[rendition.name] ?? 0;
    if (length <= 0 || segment.run !== segments[found]!.run) break;
    earlier = { ...earlier, n: segment.n, offset: earlier.offset + length };
  }
  return earlier;
}

/**
 * Returns the segment at the given time and those that follow it in the same run and rendition, until they cover
 * `seconds` or the run ends.
 */
export function segmentsFrom(
  { segments }: LiveTimeline,
  { rendition, n, offset }: TimelinePosition,
  seconds: number,
): { segments: number[]; duration: number } {
  const first = segments.findIndex((segment) => segment.n === n);
  const found: number[] = [];
  let duration = 0;
  for (const segment of segments.slice(first)) {
    const length = segment.durations[rendition.name] ?? 0;
    if (length <= 0 || segment.run !== segments[first]!.run || duration >= offset + seconds) break;
    found.push(segment.n);
    duration += length;
  }
  return { segments: found, duration };
}

function videoRenditionOf(segment: LiveSegment, run: LiveTimelineRun, height: number): LiveRendition | undefined {
  const videoRenditions = run.renditions
    .filter(({ kind, name }) => kind === "video" && (segment.durations[name] ?? 0) > 0)
    .sort((a, b) => (a.height ?? 0) - (b.height ?? 0));
  return videoRenditions.find((rendition) => (rendition.height ?? 0) >= height) ?? videoRenditions.at(-1);
}

function secondsOf({ durations }: LiveSegment, { renditions }: LiveTimelineRun): number {
  const leadingRendition = renditions.find(({ kind, name }) => kind === "video" && durations[name] !== undefined);
  return leadingRendition === undefined ? Math.max(0, ...Object.values(durations)) : durations[leadingRendition.name]!;
}
