import type { LiveSegment, LiveTimeline } from "../timeline.ts";
import type { TrackPart, TrackSegment } from "./track.ts";

/** A segment of one rendition as playlists have it. */
export interface Listed {
  n: number;
  run: { id: string; started: number };
  /** How many runs came before it. */
  place: number;
  /** Presentation time of the first sample, in seconds on the run timeline. */
  start: number;
  duration: number;
  /** The rendition has nothing here. */
  gap: boolean;
  /** As long as they are in memory. */
  parts?: readonly TrackPart[];
}

/** What is there of a rendition from some segment on. */
export interface RenditionList {
  segments: Listed[];
  /** The one that is being made. */
  open?: Omit<Listed, "gap">;
}

/** Where segments come from: a timeline, and what is in memory beside it. */
export interface Source {
  timeline: LiveTimeline;
  /** Of the process that packages it. */
  recent?: { of(rendition: string): readonly TrackSegment[] };
}

export function listOf({ timeline, recent }: Source, rendition: string, from = 0, to = Infinity): RenditionList {
  const inMemory = new Map((recent?.of(rendition) ?? []).map((segment) => [segment.n, segment]));
  const segments = timeline.segments
    .slice(from, to)
    .map((segment) => listedOf(timeline, segment, rendition, inMemory.get(segment.n)?.parts));
  for (let n = timeline.segments.length; n < to; n++) {
    const segment = inMemory.get(n);
    if (segment === undefined) break;
    const place = timeline.runs.at(-1)?.id === segment.run.id ? timeline.runs.length - 1 : timeline.runs.length;
    const { run, duration, parts, whole, begins: start = segment.start } = segment;
    if (!whole) return { segments, open: { n, run, place, start, duration, parts } };
    // How long a gap is, the others tell: it waits until it is in the timeline.
    if (parts.length === 0) break;
    if (n >= from) segments.push({ n, run, place, start, duration, gap: false, parts });
  }
  return { segments };
}

function listedOf(
  timeline: LiveTimeline,
  segment: LiveSegment,
  rendition: string,
  parts: readonly TrackPart[] | undefined,
): Listed {
  const { n, run, start, durations, starts } = segment;
  const duration = durations[rendition];
  // A gap gets the date of the segment in the leading rendition, so that dates and durations are continuous.
  const dated = duration === undefined ? (timeline.runs[run]?.renditions[0]?.name ?? rendition) : rendition;
  return {
    n,
    run: timeline.runs[run]!,
    place: run,
    start: starts?.[dated] ?? start,
    duration: duration ?? secondsOf(timeline, segment),
    gap: duration === undefined,
    ...(duration !== undefined && parts && { parts }),
  };
}

/** Seconds that a segment takes on the timeline of a player: those of the rendition that the others were cut by. */
export const secondsOf = ({ runs }: LiveTimeline, { run, durations }: LiveSegment): number =>
  durations[runs[run]?.renditions[0]?.name ?? ""] ?? longest(durations);

export const longest = (durations: Record<string, number>): number => Math.max(...Object.values(durations));

/** Lengths are sums of fractions. */
const SAME = 0.002;

/** The first number of a window that is `seconds` long at least, if there is so much, and has so many segments. It never goes back when segments are added. */
export function windowStart(segments: readonly LiveSegment[], seconds: number, least: number): number {
  let sum = 0;
  for (let n = segments.length - 1; n > 0; n--) {
    sum += longest(segments[n]!.durations);
    if (sum >= seconds - SAME && segments.length - n >= least) return n;
  }
  return 0;
}

/** To the nearest, as playlists write it (in microseconds): a sum of fractions may be a hair below the half that stands there. */
export const wholeSeconds = (duration: number): number => Math.round(Number(duration.toFixed(6)));

/** Whole seconds: what segments last at most, rounded to the nearest. */
export const targetDurationOf = (segments: readonly LiveSegment[], least = 1): number =>
  segments.reduce(
    (most, { durations }) => Math.max(most, wholeSeconds(longest(durations))),
    Math.max(1, Math.round(least)),
  );

/** Whether `list` goes as far as a player wants to wait for (rfc8216bis, 6.2.5.2): segment `msn`, or part `part` of it. */
export function reached({ segments, open }: RenditionList, msn: number, part?: number): boolean {
  const last = segments.at(-1)?.n ?? -1;
  if (part === undefined || last > msn) return last >= msn;
  if (open?.n === msn) return (open.parts?.length ?? 0) > part;
  // A part that the segment turned out not to have is the first of the next one.
  if (last === msn) return (segments.at(-1)!.parts?.length ?? Infinity) > part || (open?.parts?.length ?? 0) > 0;
  return open !== undefined && open.n > msn;
}

/** Number of the segment that comes, or is being made. */
export const nextOf = ({ segments, open }: RenditionList, from: number): number =>
  open?.n ?? (segments.at(-1)?.n ?? from - 1) + 1;
