import type { LiveFragment } from "../fragments.ts";

/** A segment of one rendition, complete or in progress. */
export interface TrackSegment {
  readonly n: number;
  readonly run: { id: string; started: number };
  /** Seconds on the run timeline: where all renditions are cut. */
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

/** Start of a segment in all renditions of a run, in seconds on the run timeline. The first is at the first fragment. */
export interface SegmentCut {
  n: number;
  /** Decode and presentation time of the first video frame. Audio is cut at the presentation time. */
  time: number;
  pts: number;
}

interface TrackParts {
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
  /** Fragments of completed segments are dropped. */
  add(fragment: LiveFragment): void;
  /** Completes everything before segment `n`, even with missing data. */
  closeBefore(n: number): void;
}

/** Durations are fractions of different timescales: smaller differences are ignored. */
const SAME = 0.002;

export function createTrack({ run, kind, cuts, partSeconds, onSegment }: TrackParts): LiveTrack {
  /** Index in `cuts` of the open segment. */
  let at = -1;
  let open: TrackSegment | undefined;
  let pending: Buffer[] = [];
  let pendingSeconds = 0;
  let pendingFrames = 0;
  let pendingKey = false;

  const timeOf = (cut: SegmentCut) => (kind === "audio" ? cut.pts : cut.time);

  function begin(index: number): void {
    at = index;
    const { n, time } = cuts[index]!;
    open = { n, run, start: time, duration: 0, parts: [], isComplete: false };
    onSegment(open);
  }

  function closePart(): void {
    if (pending.length === 0 || open === undefined) return;
    open.parts.push({
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
    onSegment(open);
  }

  function closeSegment(): void {
    if (open === undefined) return;
    closePart();
    open.isComplete = true;
    const closed = open;
    open = undefined;
    onSegment(closed);
  }

  function add({ time, duration, key, offset = 0, frames = 0, nextKey, bytes }: LiveFragment): void {
    // The cut is at a key frame of another rendition: uses the nearest fragment start, because timescales round.
    const begun = time + duration / 2;
    if (at >= 0 && open === undefined) return;
    if (at < 0) begin(0);
    while (cuts[at + 1] !== undefined && begun >= timeOf(cuts[at + 1]!)) {
      closeSegment();
      begin(at + 1);
    }
    if (at > 0 && begun < timeOf(cuts[at]!)) return;
    open!.presentationStart ??= time + offset;
    if (pendingSeconds + duration > partSeconds + SAME) closePart();
    pending.push(bytes);
    pendingSeconds += duration;
    pendingFrames += frames;
    pendingKey ||= key;
    open!.duration += duration;
    const next = cuts[at + 1];
    if (
      next !== undefined &&
      (time + duration > timeOf(next) - SAME || (nextKey !== undefined && Math.abs(nextKey - next.pts) < SAME))
    ) {
      closeSegment();
      begin(at + 1);
    } else if (pendingSeconds + duration > partSeconds + SAME) closePart();
  }

  return {
    add,
    closeBefore(n) {
      if (at >= 0 && open === undefined) return;
      if (at < 0 && cuts.length > 0 && cuts[0]!.n < n) begin(0);
      while (open !== undefined && open.n < n) {
        closeSegment();
        if (cuts[at + 1] !== undefined) begin(at + 1);
      }
    },
  };
}
