import type { LiveFragment } from "../fragments.ts";

/** A segment of one rendition, complete or in progress. */
export interface TrackSegment {
  readonly n: number;
  readonly run: { id: string; started: number };
  /** Decode time of the first video frame of this segment, in audio tracks too: seconds on the timeline of the run. */
  readonly start: number;
  /** Presentation time of the first sample. Undefined before the first sample. */
  presentationStart?: number;
  /** Duration of its parts, and of fragments that have not been added to a part. */
  duration: number;
  readonly parts: TrackPart[];
  /** True if complete. A complete segment without parts is a gap. */
  isComplete: boolean;
}

export interface TrackPart {
  duration: number;
  /** Contains a key frame. */
  independent: boolean;
  size: number;
  /** Number of video frames. */
  frames: number;
  bytes: readonly Buffer[];
}

/**
 * Start of a segment in all renditions of a run, in seconds on the run timeline. The first is at the first fragment.
 */
export interface SegmentCut {
  n: number;
  /** Decode and presentation time of the first video frame. Audio is cut at the presentation time. */
  time: number;
  pts: number;
}

interface TrackDeps {
  run: { id: string; started: number };
  kind: "video" | "audio";
  /** Cuts of the run so far; the creator of the track adds to them. Never empty when a fragment is added. */
  cuts: readonly SegmentCut[];
  partSeconds: number;
  /** Called when a segment has begun, a part has been added, or a segment is complete. */
  onSegment(segment: TrackSegment): void;
}

/** Groups the fragments of one rendition into parts and segments. */
export interface LiveTrack {
  /** Adds a fragment. Fragments of completed segments are dropped. */
  add(fragment: LiveFragment): void;
  /** Completes everything before segment `n`, even with missing data. */
  closeBefore(n: number): void;
}

/** Durations are fractions of different timescales: smaller differences are ignored. */
const TIME_TOLERANCE_S = 0.002;

export function createTrack({ run, kind, cuts, partSeconds, onSegment }: TrackDeps): LiveTrack {
  /** Index in `cuts` of the open segment. */
  let cutIndex = -1;
  let openSegment: TrackSegment | undefined;
  let pending: Buffer[] = [];
  let pendingSeconds = 0;
  let pendingFrames = 0;
  let pendingKey = false;

  const timeOf = (cut: SegmentCut) => (kind === "audio" ? cut.pts : cut.time);

  function begin(index: number): void {
    cutIndex = index;
    const { n, time } = cuts[index]!;
    openSegment = { n, run, start: time, duration: 0, parts: [], isComplete: false };
    onSegment(openSegment);
  }

  function closePart(): void {
    if (pending.length === 0 || openSegment === undefined) return;
    openSegment.parts.push({
      duration: pendingSeconds,
      independent: pendingKey,
      size: pending.reduce((sum, { length }) => sum + length, 0),
      frames: pendingFrames,
      bytes: pending,
    });
    pending = [];
    pendingSeconds = 0;
    pendingFrames = 0;
    pendingKey = false;
    onSegment(openSegment);
  }

  function closeSegment(): void {
    if (openSegment === undefined) return;
    closePart();
    openSegment.isComplete = true;
    const closedSegment = openSegment;
    openSegment = undefined;
    onSegment(closedSegment);
  }

  function add({ time, duration, key, offset = 0, frames = 0, nextKey, bytes }: LiveFragment): void {
    // The cut is at a key frame of another rendition: uses the nearest fragment start, because timescales round.
    const midpoint = time + duration / 2;
    if (cutIndex >= 0 && openSegment === undefined) return;
    if (cutIndex < 0) begin(0);
    while (cuts[cutIndex + 1] !== undefined && midpoint >= timeOf(cuts[cutIndex + 1]!)) {
      closeSegment();
      begin(cutIndex + 1);
    }
    if (cutIndex > 0 && midpoint < timeOf(cuts[cutIndex]!)) return;
    openSegment!.presentationStart ??= time + offset;
    if (pendingSeconds + duration > partSeconds + TIME_TOLERANCE_S) closePart();
    pending.push(bytes);
    pendingSeconds += duration;
    pendingFrames += frames;
    pendingKey ||= key;
    openSegment!.duration += duration;
    const next = cuts[cutIndex + 1];
    if (
      next !== undefined &&
      (time + duration > timeOf(next) - TIME_TOLERANCE_S ||
        (nextKey !== undefined && Math.abs(nextKey - next.pts) < TIME_TOLERANCE_S))
    ) {
      closeSegment();
      begin(cutIndex + 1);
    } else if (pendingSeconds + duration > partSeconds + TIME_TOLERANCE_S) closePart();
  }

  return {
    add,
    closeBefore(n) {
      if (cutIndex >= 0 && openSegment === undefined) return;
      if (cutIndex < 0 && cuts.length > 0 && cuts[0]!.n < n) begin(0);
      while (openSegment !== undefined && openSegment.n < n) {
        closeSegment();
        if (cuts[cutIndex + 1] !== undefined) begin(cutIndex + 1);
      }
    },
  };
}
