import type { LiveFragment } from "../fragments.ts";

/** A segment of one rendition, whole or as much of it as has come. */
export interface TrackSegment {
  readonly n: number;
  readonly run: { id: string; started: number };
  /** Seconds on the timeline of the run: where all renditions were cut. */
  readonly start: number;
  /** Of its parts, and of what is in no part yet. */
  duration: number;
  readonly parts: TrackPart[];
  /** Nothing will be added. One without parts is a gap. */
  whole: boolean;
}

export interface TrackPart {
  duration: number;
  /** There is a key frame in it. */
  independent: boolean;
  size: number;
  bytes: readonly Buffer[];
}

/** Where the segments of a run begin, of all its renditions: the first at its first fragment. */
export interface Cut {
  n: number;
  time: number;
}

export interface TrackParts {
  run: { id: string; started: number };
  /** Those of the run so far; whoever makes the track adds to them. Never empty when a fragment is added. */
  cuts: readonly Cut[];
  partSeconds: number;
  /** A segment has begun, a part was made, or a segment is whole. */
  onSegment(segment: TrackSegment): void;
}

/** Puts the fragments of one rendition into parts and segments. */
export interface Track {
  /** Fragments of segments that are whole are dropped. */
  add(fragment: LiveFragment): void;
  /** Everything before segment `n` is whole now, whatever has come of it. */
  closeBefore(n: number): void;
}

/** Durations are fractions of different timescales: what differs by less is the same. */
const SAME = 0.002;
/** Publishers' clocks tick in milliseconds, and no two pictures are as close as this. */
export const ABOUT_AS_LONG = 0.008;

export function createTrack({ run, cuts, partSeconds, onSegment }: TrackParts): Track {
  /** Index in `cuts` of the segment that is open. */
  let at = -1;
  let open: TrackSegment | undefined;
  let before = 0;
  let pending: Buffer[] = [];
  let pendingSeconds = 0;
  let pendingKey = false;

  function begin(index: number): void {
    at = index;
    const { n, time } = cuts[index]!;
    open = { n, run, start: time, duration: 0, parts: [], whole: false };
    onSegment(open);
  }

  function closePart(): void {
    if (pending.length === 0 || open === undefined) return;
    open.parts.push({ duration: pendingSeconds, independent: pendingKey, size: pending.reduce((sum, { length }) => sum + length, 0), bytes: pending });
    pending = [];
    pendingSeconds = 0;
    pendingKey = false;
    onSegment(open);
  }

  function closeSegment(): void {
    if (open === undefined) return;
    closePart();
    before = open.duration;
    open.whole = true;
    const closed = open;
    open = undefined;
    onSegment(closed);
  }

  function add({ time, duration, key, bytes }: LiveFragment): void {
    // The cut was made at a key frame of another rendition: the nearest beginning of a fragment is meant, whatever the timescales make of it.
    const begun = time + duration / 2;
    if (at >= 0 && open === undefined) return;
    if (at < 0) begin(0);
    while (cuts[at + 1] !== undefined && begun >= cuts[at + 1]!.time) {
      closeSegment();
      begin(at + 1);
    }
    if (at > 0 && begun < cuts[at]!.time) return;
    if (pendingSeconds + duration > partSeconds + SAME) closePart();
    pending.push(bytes);
    pendingSeconds += duration;
    pendingKey ||= key;
    open!.duration += duration;
    // Another one like it has no room; or the segment is as long as the one before, and a key frame comes now.
    if (pendingSeconds + duration > partSeconds + SAME || Math.abs(open!.duration - before) < ABOUT_AS_LONG) closePart();
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
