import { type HlsPart, type LiveHlsSegment, type LowLatency, writeLivePlaylist } from "../../../protocol/hls/index.ts";
import type { TrackPart } from "./track.ts";
import { type Listed, listOf, nextOf, type RenditionList, type Source, windowStart } from "./lists.ts";

/** How much of a broadcast a media playlist has. */
export interface Extent {
  /** The end of it, or all of what is kept; a part of it that is over, both numbers included. */
  what: "window" | "dvr" | "whole" | { from: number; to: number };
  /** With parts, where they are in memory. */
  lowLatency?: boolean;
  /** Leave out what the player has (`_HLS_skip`). */
  skip?: boolean;
  /** Where players begin, in seconds from the beginning of the first segment. */
  start?: number;
}

export interface PlaylistSettings {
  targetDuration: number;
  partTarget: number;
  dvrSeconds: number;
}

/** Put behind every address: makes those of one broadcast other ones than those of the next under the same input. */
export type Suffix = string;

const WINDOW_SECONDS = 30;
const LEAST_SEGMENTS = 6;
/** Of the target duration: rfc8216bis 4.4.3.8 wants six at least, and parts are of use for three (6.2.2). */
const SKIP_FACTOR = 6;
const PARTS_FACTOR = 3;
/** Of the part target: at least two, and three are recommended. */
const HOLD_BACK_PARTS = 3;
const HOLD_BACK = 3;

/** Address of a media playlist beside the multivariant one; of segments, a folder over. */
export const playlistUri = (rendition: string, query: string): string => `${rendition}.m3u8${query}`;
const segmentUri = (rendition: string, file: string, suffix: Suffix) => `../segments/${rendition}/${file}${suffix}`;

/** Number of the first segment that is listed. */
function firstOf({ timeline: { segments } }: Source, { what }: Extent, { dvrSeconds }: PlaylistSettings): number {
  if (typeof what === "object") return what.from;
  return what === "whole" ? 0 : windowStart(segments, what === "dvr" ? dvrSeconds : WINDOW_SECONDS, LEAST_SEGMENTS);
}

export interface WrittenPlaylist {
  text: string;
  list: RenditionList;
}

/** `others`: renditions beside this one whose progress is told, with the query of their playlists. */
export function mediaPlaylist(
  source: Source,
  rendition: string,
  extent: Extent,
  settings: PlaylistSettings,
  { others = [], query = "", suffix = "" }: { others?: readonly string[]; query?: string; suffix?: Suffix } = {},
): WrittenPlaylist {
  const { targetDuration, partTarget } = settings;
  const { what } = extent;
  const from = firstOf(source, extent, settings);
  const list = listOf(source, rendition, from, typeof what === "object" ? what.to + 1 : Infinity);
  const ended = source.timeline.ended || typeof what === "object";
  // At the end too: a player that has the first parts of the last segment does not look for the rest in the whole of it.
  const lowLatency = extent.lowLatency === true && source.recent !== undefined;
  const { segments } = list;
  const total = segments.reduce((sum, { duration }) => sum + duration, 0) + partsDuration(list.open?.parts);
  let left = total;
  let skipped = 0;
  let before: Listed | Omit<Listed, "gap"> | undefined;
  const written: LiveHlsSegment[] = [];
  const head = (one: Omit<Listed, "gap">, gap: boolean) => {
    const first = before === undefined;
    const discontinuity = before !== undefined && before.place !== one.place;
    before = one;
    return {
      ...(!gap && { init: segmentUri(rendition, `init-${one.run.id}.mp4`, suffix) }),
      ...(discontinuity && { discontinuity }),
      // Of what is over it is enough to say it once for each run.
      ...((!ended || first || discontinuity) && { at: Math.round(one.run.started + one.start * 1000) }),
    };
  };
  for (const segment of segments) {
    const { n, duration, gap, parts } = segment;
    left -= duration;
    if (left >= SKIP_FACTOR * targetDuration) skipped++;
    const withParts = lowLatency && parts !== undefined && left < PARTS_FACTOR * targetDuration;
    written.push({
      uri: segmentUri(rendition, `${n}.m4s`, suffix),
      duration,
      gap,
      ...head(segment, gap),
      ...(withParts && { parts: partsOf(parts, n) }),
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
    version: lowLatency ? 9 : what === "dvr" ? 8 : 6,
    targetDuration,
    mediaSequence: from,
    discontinuitySequence: segments[0]?.place ?? open?.place ?? 0,
    segments: written,
    ...(ended && { ended: what === "window" || what === "dvr" ? ("window" as const) : ("whole" as const) }),
    ...(what === "dvr" && !ended && { canSkipUntil: SKIP_FACTOR * targetDuration }),
    ...(extent.skip === true && what === "dvr" && !ended && { skipped }),
    ...(extent.start !== undefined && { start: extent.start }),
    ...(lowLatency &&
      open !== undefined &&
      open.parts!.length > 0 && { open: { ...head(open, false), parts: partsOf(open.parts!, open.n) } }),
    ...(lowLatency && {
      lowLatency: lowLatencyOf(source, rendition, { list, from, partTarget, targetDuration, others, query, suffix }),
    }),
  });
  return { text, list };
}

function lowLatencyOf(
  source: Source,
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
    // The last part of a segment closes it, so the next part then belongs to the next segment.
    ...(list.open !== undefined &&
      isForeseen(list.open, list.segments.at(-1)) && {
        hint: segmentUri(rendition, `${list.open.n}.${list.open.parts!.length}.m4s`, suffix),
      }),
    reports: others.flatMap((other) => {
      const its = listOf(source, other, from);
      const lastPart = its.open?.parts?.length ?? 0;
      const lastSequence = nextOf(its, from) - (lastPart > 0 ? 0 : 1);
      return lastSequence < from
        ? []
        : [
            {
              uri: playlistUri(other, query),
              lastSequence,
              ...(lastPart > 0
                ? { lastPart: lastPart - 1 }
                : { lastPart: Math.max(0, (its.segments.at(-1)?.parts?.length ?? 1) - 1) }),
            },
          ];
    }),
  };
}

/** The first part of a run follows a discontinuity, which players must see before the hint. */
const isForeseen = ({ parts, run }: Omit<Listed, "gap">, before: Listed | undefined): boolean =>
  parts!.length > 0 || before?.run.id === run.id;

const partsDuration = (parts: readonly TrackPart[] = []) => parts.reduce((sum, { duration }) => sum + duration, 0);
