import {
  placementOf,
  readAvc,
  writeInit,
  type AvcDescription,
  type Movie,
  type SamplePosition,
  type Track,
} from "../../protocol/mp4/index.ts";
import { bandwidthOf, everySample, type SampleCut, type CutTrack } from "./cut.ts";

export interface CutVideo extends CutTrack {
  width: number;
  height: number;
  fps: number;
}

/** A segment ends at the first key frame after this. */
const TARGET_SECONDS = 3.5;
/** Sources with key frames farther apart take too long to resume after a seek. */
const MAX_SECONDS = 20;
/**
 * Maximum delay of the first frame, and maximum time that an edit list may cut at the end: longer times are noticeable.
 */
const LATEST_SECONDS = 0.1;
const TAIL_SECONDS = 0.1;

interface CutVideoOptions {
  movie: Movie;
  /** Position in the movie, in seconds, where the video starts. */
  origin: number;
  fileSize: number;
  /**
   * Timescale of the encoded renditions. Absent: segments keep the track's timescale and have no edit list (see
   * MediaModel.editLists).
   */
  segmentTimescale: number | undefined;
}

/** Cuts a video track at its key frames. Returns the reason as text if that is impossible. Throws Mp4Error. */
export function cutVideo(
  track: Track,
  { movie, origin, fileSize, segmentTimescale }: CutVideoOptions,
): CutVideo | string {
  const avc = describe(track);
  if (typeof avc === "string") return avc;
  const placement = placementOf(track, movie);
  if (placement === undefined) return "its edit list does more than to place it";
  const { timescale } = track;
  const tables = track.samples();
  const zeroTime = placement.offset + Math.round(origin * timescale);
  const cutter = createCutter(TARGET_SECONDS * timescale, MAX_SECONDS * timescale);
  let first: { time: number; shift: number; shown: number } | undefined;
  let minShift = 0;
  for (const walk of everySample(tables, fileSize)) {
    if (first === undefined) {
      const presentationTime = walk.time + walk.shift - zeroTime;
      if (!walk.sync) return "it does not begin with a key frame";
      if (presentationTime < -walk.duration / 2) return "its edit list leaves out pictures at the beginning";
      if (presentationTime > LATEST_SECONDS * timescale) return "its pictures begin late";
      first = { time: walk.time, shift: walk.shift, shown: Math.max(0, presentationTime) };
    }
    minShift = Math.min(minShift, walk.shift - first.shift);
    const time = walk.time - first.time + first.shown;
    cutter.add({
      time,
      shown: time + walk.shift - first.shift,
      duration: walk.duration,
      size: walk.size,
      mark: walk.sync ? walk.position : undefined,
    });
  }
  const segments = cutter.end();
  if (typeof segments === "string") return segments;
  const last = segments.at(-1)!;
  const length = last.start + last.duration;
  if (length > placement.end - zeroTime + placement.offset + TAIL_SECONDS * timescale)
    return "its edit list leaves out pictures at the end";
  const { width, height } = avc;
  const delay = segmentTimescale === undefined ? 0 : -minShift;
  const writtenTimescale = segmentTimescale ?? timescale;
  const init = writeInit({
    id: 1,
    handler: "vide",
    timescale: writtenTimescale,
    width,
    height,
    language: track.language,
    description: avc.entry,
    delay: Math.round((delay * writtenTimescale) / timescale),
  });
  return {
    tables,
    timescale,
    segmentTimescale: writtenTimescale,
    init,
    codecs: avc.codecs,
    segments,
    ...bandwidthOf(segments, { timescale, tables }),
    baseOffset: first!.shift - delay,
    width,
    height,
    fps: (tables.count * timescale) / Math.max(1, length),
  };
}

function describe({ descriptions, selfContained }: Track): AvcDescription | string {
  if (descriptions.length !== 1) return "its codec changes on the way";
  if (!selfContained) return "its samples lie in another file";
  const avc = readAvc(descriptions[0]!);
  if (avc === undefined) return "it is not H.264 with its parameters in the index";
  if (!avc.plain || avc.width === 0 || avc.height === 0) return `players do not play ${avc.codecs}`;
  return avc;
}

interface CutterSample {
  time: number;
  shown: number;
  duration: number;
  size: number;
  /** Set for key frames. */
  mark: (() => SamplePosition) | undefined;
}

interface SegmentStart {
  from: SamplePosition;
  time: number;
  shown: number;
  count: number;
  octets: number;
}

/**
 * A segment must start with a key frame across which no frame refers to another: in an open GOP the first frames shown
 * are decoded after the key frame and need the previous GOP. A key frame is therefore accepted only after its whole GOP
 * has been read.
 */
function createCutter(targetDuration: number, maxDuration: number) {
  const segments: SampleCut[] = [];
  let from: SegmentStart | undefined;
  let candidate: SegmentStart | undefined;
  let count = 0;
  let octets = 0;
  let latest = -Infinity;
  let end = 0;
  let rejection: string | undefined;

  function close(segmentEnd: { shown: number; count: number; octets: number }) {
    const { shown: presentationTime, time } = from!;
    if (segmentEnd.shown - presentationTime > maxDuration)
      rejection = `its key frames are too far apart (${Math.round(((segmentEnd.shown - presentationTime) / maxDuration) * MAX_SECONDS)} s)`;
    segments.push({
      from: from!.from,
      time,
      trimStart: 0,
      start: presentationTime,
      duration: segmentEnd.shown - presentationTime,
      count: segmentEnd.count - from!.count,
      size: segmentEnd.octets - from!.octets,
    });
  }

  function commitCandidate() {
    if (candidate === undefined) return;
    close(candidate);
    from = candidate;
    candidate = undefined;
  }

  return {
    add({ time, shown: presentationTime, duration, size, mark }: CutterSample) {
      if (mark !== undefined) {
        commitCandidate();
        if (from === undefined) from = { from: mark(), time, shown: presentationTime, count, octets };
        else if (presentationTime - from.shown >= targetDuration && presentationTime > latest)
          candidate = { from: mark(), time, shown: presentationTime, count, octets };
      }
      if (candidate !== undefined && presentationTime < candidate.shown) candidate = undefined;
      if (from !== undefined && presentationTime < from.shown)
        rejection = "pictures are shown before the key frame they follow";
      latest = Math.max(latest, presentationTime);
      end = Math.max(end, presentationTime + duration);
      count++;
      octets += size;
    },
    end(): SampleCut[] | string {
      commitCandidate();
      close({ shown: end, count, octets });
      return rejection ?? segments;
    },
  };
}
