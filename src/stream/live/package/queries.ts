import { streamErrors } from "../../errors.ts";
import { readTime } from "../../thumbnails/index.ts";
import type { LiveTimeline } from "../timeline.ts";
import { liveSegmentSeconds } from "./lists.ts";
import type { PlaylistRange } from "./playlists.ts";

/** Seconds: longest preview of a live broadcast, and longest instant clip. */
const MAX_PREVIEW_SECONDS = 300;
const MAX_CLIP_SECONDS = 60;

/** Parses the query of a media playlist, as written by the multivariant playlist. Throws badParameter. */
export function readPlaylistRange(query: URLSearchParams, isEnded: boolean): PlaylistRange {
  const canSkip = query.get("_HLS_skip") === "YES" || query.get("_HLS_skip") === "v2";
  const [from, to] = [readWhole(query, "from"), readWhole(query, "to")];
  const start = query.get("start");
  if (from !== undefined && to !== undefined)
    return {
      range: { from, to },
      ...(start !== null && /^\d{1,4}(\.\d{1,3})?$/.test(start) && { start: Number(start) }),
    };
  if (query.get("dvrEnabled") === "true")
    return { range: "dvr", skip: canSkip, lowLatency: query.get("protocol") === "llhls" };
  // A client that played the broadcast live sends a protocol; any other client gets the whole recording.
  return {
    range: isEnded && !query.has("protocol") ? "whole" : "window",
    lowLatency: query.get("protocol") === "llhls",
  };
}

/** Reads the directives of a blocking request (rfc8216bis 6.2.5). Throws badParameter. */
export function readDirectives(query: URLSearchParams): { msn: number; part?: number } | undefined {
  const [msn, part] = [readWhole(query, "_HLS_msn"), readWhole(query, "_HLS_part")];
  if (msn === undefined && part !== undefined)
    throw streamErrors.badParameter({ reason: "_HLS_part requires _HLS_msn" });
  return msn === undefined ? undefined : { msn, ...(part !== undefined && { part }) };
}

function readWhole(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw streamErrors.badParameter({ reason: `${name} must be a whole number` });
  return Number(text);
}

/** Reads the `duration` of a preview. Undefined if not requested. Throws badParameter. */
export const readPreview = (query: URLSearchParams): number | undefined =>
  query.has("duration") ? readSeconds(query, "duration", MAX_PREVIEW_SECONDS) : undefined;

/** Throws badParameter. */
export const readClip = (query: URLSearchParams): { time: number; duration: number } => ({
  time: readSeconds(query, "time", Infinity, 0),
  duration: readSeconds(query, "duration", MAX_CLIP_SECONDS),
});

function readSeconds(query: URLSearchParams, name: string, maxSeconds: number, minSeconds = 0.1): number {
  const value = readTime(query.get(name) ?? "");
  if (value === undefined) throw streamErrors.badParameter({ reason: `${name} must be like 30s, 5m2s or 1.5s` });
  if (value < minSeconds || value > maxSeconds)
    throw streamErrors.badParameter({ reason: `${name} must be from ${minSeconds} to ${maxSeconds} seconds` });
  return value;
}

/** Tolerance for durations, which are sums of fractions. */
const TIME_TOLERANCE_S = 0.002;

/**
 * Returns the range of segments (both numbers inclusive) covering the seconds from `time` onwards, and the offset in
 * the first one. Seconds are those of the recording: gaps between runs do not count. Undefined without such segments.
 */
export function segmentsBetween(
  timeline: LiveTimeline,
  time: number,
  duration: number,
): { from: number; to: number; start: number } | undefined {
  let segmentStart = 0;
  let first: { n: number; start: number } | undefined;
  for (const segment of timeline.segments) {
    const { n } = segment;
    const end = segmentStart + liveSegmentSeconds(timeline, segment);
    if (first === undefined && end > time + TIME_TOLERANCE_S) first = { n, start: Math.max(0, time - segmentStart) };
    if (first !== undefined && end >= time + duration - TIME_TOLERANCE_S)
      return { from: first.n, to: n, start: first.start };
    segmentStart = end;
  }
  return first && { from: first.n, to: timeline.segments.length - 1, start: first.start };
}

/** Returns the second of the recording at which segment `n` begins. */
export const positionOf = (timeline: LiveTimeline, n: number): number =>
  timeline.segments.slice(0, n).reduce((sum, segment) => sum + liveSegmentSeconds(timeline, segment), 0);
