import type { LiveSegment, LiveTimeline } from "../timeline.ts";
import type { TrackPart, TrackSegment } from "./track.ts";

/** A segment of one rendition as listed in playlists. */
export interface ListedSegment {
  n: number;
  run: { id: string; started: number };
  /** Number of earlier runs. */
  runIndex: number;
  /** Presentation time of the first sample, in seconds on the run timeline. */
  start: number;
  duration: number;
  /** The rendition has no data for this segment. */
  gap: boolean;
  /** Present while the parts are in memory. */
  parts?: readonly TrackPart[];
}

/** Segments of a rendition, starting at a given number. */
export interface RenditionList {
  segments: ListedSegment[];
  /** The segment in progress. */
  open?: Omit<ListedSegment, "gap">;
}

/** Source of segments: a timeline, and recent segments in memory. */
export interface SegmentSource {
  timeline: LiveTimeline;
  /** Present only in the process that packages the broadcast. */
  recent?: { of(rendition: string): readonly TrackSegment[] };
}

export function renditionListOf(
  { timeline, recent }: SegmentSource,
  rendition: string,
  from = 0,
  to = Infinity,
): RenditionList {
  const inMemory = new Map((recent?.of(rendition) ?? []).map((segment) => [segment.n, segment]));
  const segments = timeline.segments
    .slice(from, to)
    .map((segment) => listedOf(timeline, segment, rendition, inMemory.get(segment.n)?.parts));
  for (let n = timeline.segments.length; n < to; n++) {
    const segment = inMemory.get(n);
    if (segment === undefined) break;
    const runIndex = timeline.runs.at(-1)?.id === segment.run.id ? timeline.runs.length - 1 : timeline.runs.length;
    const { run, duration, parts, isComplete, presentationStart: start = segment.start } = segment;
    if (!isComplete) return { segments, open: { n, run, runIndex, start, duration, parts } };
    // The duration of a gap comes from the other renditions: it is listed once it is in the timeline.
    if (parts.length === 0) break;
    if (n >= from) segments.push({ n, run, runIndex, start, duration, gap: false, parts });
  }
  return { segments };
}

function listedOf(
  timeline: LiveTimeline,
  segment: LiveSegment,
  rendition: string,
  parts: readonly TrackPart[] | undefined,
): ListedSegment {
  const { n, run, start, durations, starts } = segment;
  const duration = durations[rendition];
  // A gap gets the date of the segment in the leading rendition, so that dates and durations are continuous.
  const datedDuration = duration === undefined ? (timeline.runs[run]?.renditions[0]?.name ?? rendition) : rendition;
  return {
    n,
    run: timeline.runs[run]!,
    runIndex: run,
    start: starts?.[datedDuration] ?? start,
    duration: duration ?? liveSegmentSeconds(timeline, segment),
    gap: duration === undefined,
    ...(duration !== undefined && parts && { parts }),
  };
}

/** Returns the duration of a segment on the player timeline, in seconds: that of the first rendition of its run. */
export const liveSegmentSeconds = ({ runs }: LiveTimeline, { run, durations }: LiveSegment): number =>
  durations[runs[run]?.renditions[0]?.name ?? ""] ?? longest(durations);

export const longest = (durations: Record<string, number>): number => Math.max(...Object.values(durations));

/** Tolerance for durations, which are sums of fractions. */
const TIME_TOLERANCE_S = 0.002;

/**
 * Returns the number of the first segment of a window with at least `seconds` and the given number of segments, if that
 * many exist. Never decreases when segments are added.
 */
export function windowStart(segments: readonly LiveSegment[], seconds: number, minSeconds: number): number {
  let sum = 0;
  for (let n = segments.length - 1; n > 0; n--) {
    sum += longest(segments[n]!.durations);
    if (sum >= seconds - TIME_TOLERANCE_S && segments.length - n >= minSeconds) return n;
  }
  return 0;
}

/**
 * Rounds the value as written in playlists (in microseconds): a sum of fractions may be slightly below the written
 * half.
 */
export const wholeSeconds = (duration: number): number => Math.round(Number(duration.toFixed(6)));

/** Returns the maximum segment duration in seconds, rounded to the nearest integer. */
export const liveTargetDuration = (segments: readonly LiveSegment[], minSeconds = 1): number =>
  segments.reduce(
    (longestSoFar, { durations }) => Math.max(longestSoFar, wholeSeconds(longest(durations))),
    Math.max(1, Math.round(minSeconds)),
  );

/**
 * True if `list` includes what a blocking request is waiting for (rfc8216bis, 6.2.5.2): segment `msn`, or part `part`
 * of it.
 */
export function isReached({ segments, open }: RenditionList, msn: number, part?: number): boolean {
  const last = segments.at(-1)?.n ?? -1;
  if (part === undefined || last > msn) return last >= msn;
  if (open?.n === msn) return (open.parts?.length ?? 0) > part;
  // A part beyond the end of its segment means the first part of the next one.
  if (last === msn) return (segments.at(-1)!.parts?.length ?? Infinity) > part || (open?.parts?.length ?? 0) > 0;
  return open !== undefined && open.n > msn;
}

/** Returns the number of the next segment, or the one in progress. */
export const nextOf = ({ segments, open }: RenditionList, from: number): number =>
  open?.n ?? (segments.at(-1)?.n ?? from - 1) + 1;
