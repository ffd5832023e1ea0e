import { type HlsPart, type LiveHlsSegment, type LowLatency, writeLivePlaylist } from "../../../protocol/hls/index.ts";
import type { TrackPart } from "./track.ts";
import {
  type ListedSegment,
  renditionListOf,
  nextOf,
  type RenditionList,
  type SegmentSource,
  windowStart,
} from "./lists.ts";

/** The range of a broadcast that a media playlist covers. */
export interface PlaylistRange {
  /** The latest window, everything stored, or a completed range with both numbers inclusive. */
  range: "window" | "dvr" | "whole" | { from: number; to: number };
  /** List parts while they are in memory. */
  lowLatency?: boolean;
  /** Skip the segments that the player has (`_HLS_skip`). */
  skip?: boolean;
  /** Start position of players, in seconds from the beginning of the first segment. */
  start?: number;
}

export interface PlaylistSettings {
  targetDuration: number;
  partTarget: number;
  dvrSeconds: number;
}

/** Appended to every URL: distinguishes broadcasts of the same input. */
type Suffix = string;

const WINDOW_SECONDS = 30;
const MIN_SEGMENTS = 6;
/**
 * In target durations. A skip boundary must be at least six (rfc8216bis 4.4.3.8), and parts are listed for the last
 * three (6.2.2).
 */
const SKIP_FACTOR = 6;
const PARTS_FACTOR = 3;
/** Multiples of the part target: at least two; three are recommended. */
const HOLD_BACK_PARTS = 3;
const HOLD_BACK = 3;

/** Returns the URL of a media playlist relative to the multivariant one; segments are one folder up. */
export const playlistUri = (rendition: string, query: string): string => `${rendition}.m3u8${query}`;
const segmentUri = (rendition: string, file: string, suffix: Suffix) => `../segments/${rendition}/${file}${suffix}`;

/** Returns the number of the first listed segment. */
function firstOf(
  { timeline: { segments } }: SegmentSource,
  { range }: PlaylistRange,
  { dvrSeconds }: PlaylistSettings,
): number {
  if (typeof range === "object") return range.from;
  return range === "whole" ? 0 : windowStart(segments, range === "dvr" ? dvrSeconds : WINDOW_SECONDS, MIN_SEGMENTS);
}

export interface WrittenPlaylist {
  text: string;
  list: RenditionList;
}

/** `others`: other renditions to report, with the query of their playlists. */
export function mediaPlaylist(
  source: SegmentSource,
  rendition: string,
  extent: PlaylistRange,
  settings: PlaylistSettings,
  { others = [], query = "", suffix = "" }: { others?: readonly string[]; query?: string; suffix?: Suffix } = {},
): WrittenPlaylist {
  const { targetDuration, partTarget } = settings;
  const { range } = extent;
  const from = firstOf(source, extent, settings);
  const list = renditionListOf(source, rendition, from, typeof range === "object" ? range.to + 1 : Infinity);
  const hasEnded = source.timeline.ended || typeof range === "object";
  // Also true at the end: a player with the first parts of the last segment does not load the remaining data from the
  // whole segment.
  const isLowLatency = extent.lowLatency === true && source.recent !== undefined;
  const { segments } = list;
  const total = segments.reduce((sum, { duration }) => sum + duration, 0) + partsDuration(list.open?.parts);
  let remainingSeconds = total;
  let skippedSegments = 0;
  let before: ListedSegment | Omit<ListedSegment, "gap"> | undefined;
  const writtenSegments: LiveHlsSegment[] = [];
  const segmentHead = (listedSegment: Omit<ListedSegment, "gap">, gap: boolean) => {
    const isFirst = before === undefined;
    const isDiscontinuity = before !== undefined && before.runIndex !== listedSegment.runIndex;
    before = listedSegment;
    return {
      ...(!gap && { init: segmentUri(rendition, `init-${listedSegment.run.id}.mp4`, suffix) }),
      ...(isDiscontinuity && { discontinuity: true }),
      // After the broadcast has ended, one date per run is sufficient.
      ...((!hasEnded || isFirst || isDiscontinuity) && {
        at: Math.round(listedSegment.run.started + listedSegment.start * 1000),
      }),
    };
  };
  for (const segment of segments) {
    const { n, duration, gap, parts } = segment;
    remainingSeconds -= duration;
    if (remainingSeconds >= SKIP_FACTOR * targetDuration) skippedSegments++;
    const includesParts = isLowLatency && parts !== undefined && remainingSeconds < PARTS_FACTOR * targetDuration;
    writtenSegments.push({
      uri: segmentUri(rendition, `${n}.m4s`, suffix),
      duration,
      gap,
      ...segmentHead(segment, gap),
      ...(includesParts && { parts: partsOf(parts, n) }),
    });
  }
  function partsOf(parts: readonly TrackPart[], n: number): HlsPart[] {
    return parts.map(({ duration, independent }, p) => ({
      uri: segmentUri(rendition, `${n}.${p}.m4s`, suffix),
      duration,
      independent,
    }));
  }
  const { open } = list;
  const text = writeLivePlaylist({
    version: isLowLatency ? 9 : range === "dvr" ? 8 : 6,
    targetDuration,
    mediaSequence: from,
    discontinuitySequence: segments[0]?.runIndex ?? open?.runIndex ?? 0,
    segments: writtenSegments,
    ...(hasEnded && { ended: range === "window" || range === "dvr" ? ("window" as const) : ("whole" as const) }),
    ...(range === "dvr" && !hasEnded && { canSkipUntil: SKIP_FACTOR * targetDuration }),
    ...(extent.skip === true && range === "dvr" && !hasEnded && { skipped: skippedSegments }),
    ...(extent.start !== undefined && { start: extent.start }),
    ...(isLowLatency &&
      open !== undefined &&
      open.parts!.length > 0 && { open: { ...segmentHead(open, false), parts: partsOf(open.parts!, open.n) } }),
    ...(isLowLatency && {
      lowLatency: lowLatencyOf(source, rendition, { list, from, partTarget, targetDuration, others, query, suffix }),
    }),
  });
  return { text, list };
}

function lowLatencyOf(
  source: SegmentSource,
  rendition: string,
  {
    list,
    from,
    partTarget,
    targetDuration,
    others,
    query,
    suffix,
  }: {
    list: RenditionList;
    from: number;
    partTarget: number;
    targetDuration: number;
    others: readonly string[];
    query: string;
    suffix: Suffix;
  },
): LowLatency {
  return {
    partTarget,
    partHoldBack: HOLD_BACK_PARTS * partTarget,
    holdBack: HOLD_BACK * targetDuration,
    // The last part of a segment completes it, so the next part then belongs to the next segment.
    ...(list.open !== undefined &&
      canHint(list.open, list.segments.at(-1)) && {
        preloadHint: segmentUri(rendition, `${list.open.n}.${list.open.parts!.length}.m4s`, suffix),
      }),
    renditionReports: others.flatMap((otherRendition) => {
      const otherList = renditionListOf(source, otherRendition, from);
      const lastPart = otherList.open?.parts?.length ?? 0;
      const lastSequence = nextOf(otherList, from) - (lastPart > 0 ? 0 : 1);
      return lastSequence < from
        ? []
        : [
            {
              uri: playlistUri(otherRendition, query),
              lastSequence,
              ...(lastPart > 0
                ? { lastPart: lastPart - 1 }
                : { lastPart: Math.max(0, (otherList.segments.at(-1)?.parts?.length ?? 1) - 1) }),
            },
          ];
    }),
  };
}

/** The first part of a run follows a discontinuity, which players must see before the hint. */
const canHint = ({ parts, run }: Omit<ListedSegment, "gap">, before: ListedSegment | undefined): boolean =>
  parts!.length > 0 || before?.run.id === run.id;

const partsDuration = (parts: readonly TrackPart[] = []) => parts.reduce((sum, { duration }) => sum + duration, 0);
