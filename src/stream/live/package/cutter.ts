import type { LiveFragment, LiveRun } from "../fragments.ts";
import type { LiveSegment, CutSegment } from "../timeline.ts";
import { createTrack, type SegmentCut, type LiveTrack, type TrackSegment } from "./track.ts";

interface CutterDeps {
  run: Pick<LiveRun, "id" | "started" | "renditions">;
  /** Number of its first segment. */
  first: number;
  segmentSeconds: number;
  partSeconds: number;
  /** Called when a segment of a rendition has begun, has a new part, or is complete. */
  onChange(rendition: string, segment: TrackSegment): void;
  /** Called for segments that are complete in all renditions, in order. `segment.run` is 0: the caller sets it. */
  onSegment(cut: CutSegment): void;
}

interface Cutter {
  fragment(fragment: LiveFragment): void;
  /** Completes all segments received so far. */
  end(): void;
}

/**
 * A segment without a key frame at its end is cut at a fragment after this long: this bounds memory, and players wait
 * for the first segment to end.
 */
const MAX_SEGMENT_S = 20;
/** The same limit in octets of the leading rendition: 25 Mbit/s for that time, or a clock that hardly advances. */
const MAX_OCTETS = 64 * 1024 * 1024;
/** Maximum lead of audio over video before segments are cut without video. */
const MAX_AHEAD_S = 4;
/** Maximum lag of a rendition before it is omitted. */
const MAX_BEHIND_S = 15;
const TIME_TOLERANCE_S = 0.002;

/** Cuts a run into segments: at key frames of its first rendition, and at the same times in all others. */
export function createCutter({ run, first, segmentSeconds, partSeconds, onChange, onSegment }: CutterDeps): Cutter {
  const cuts: SegmentCut[] = [];
  const tracks = new Map<string, LiveTrack>();
  const heldFragments = new Map<string, LiveFragment[]>();
  /** Segments that are complete in some renditions, but not in all. */
  const pendingSegments = new Map<number, Map<string, TrackSegment>>();
  const leader = run.renditions[0]?.name;
  const runInfo = { id: run.id, started: run.started };
  /** Segment boundaries are known up to this time on the timeline. */
  let knownUntil = -Infinity;
  /** Octets of the leading rendition since the last cut. */
  let octets = 0;
  let nextComplete = first;
  let isEnded = false;

  for (const { name, kind } of run.renditions) {
    tracks.set(
      name,
      createTrack({ run: runInfo, kind, cuts, partSeconds, onSegment: (segment) => onTrackSegment(name, segment) }),
    );
    heldFragments.set(name, []);
  }

  function onTrackSegment(rendition: string, segment: TrackSegment): void {
    onChange(rendition, segment);
    if (!segment.isComplete) return;
    pendingSegments.getOrInsertComputed(segment.n, () => new Map()).set(rendition, segment);
    for (
      let trackSegments = pendingSegments.get(nextComplete);
      trackSegments !== undefined && trackSegments.size === tracks.size;
      trackSegments = pendingSegments.get(nextComplete)
    ) {
      pendingSegments.delete(nextComplete++);
      const presentTracks = [...trackSegments].filter(([, { parts }]) => parts.length > 0);
      const { n, start } = segmentOf(trackSegments);
      const listedSegment: LiveSegment = {
        n,
        run: 0,
        start,
        durations: Object.fromEntries(presentTracks.map(([name, trackSegment]) => [name, trackSegment.duration])),
        starts: Object.fromEntries(
          presentTracks.map(([name, trackSegment]) => [name, trackSegment.presentationStart!]),
        ),
      };
      // A segment without any data, after the last fragment of a run, is skipped.
      if (presentTracks.length > 0)
        onSegment({
          run: run.id,
          segment: listedSegment,
          bytes: Object.fromEntries(
            presentTracks.map(([name, trackSegment]) => [name, trackSegment.parts.flatMap(({ bytes }) => bytes)]),
          ),
        });
    }
  }

  function cut(time: number, pts: number): void {
    cuts.push({ n: first + cuts.length, time, pts });
    octets = 0;
    const [last, before] = [cuts.at(-1)!, cuts.at(-2)];
    if (before === undefined) return;
    for (const track of tracks.values()) {
      const laggingCut = cuts.findLast((candidate) => candidate.time <= last.time - MAX_BEHIND_S);
      if (laggingCut !== undefined) track.closeBefore(laggingCut.n);
    }
  }

  /** The end of a segment is determined with its last fragment, so that playlists announce the correct next part. */
  function followLeader({ time, duration, key, offset = 0, nextKey, bytes }: LiveFragment): void {
    if (isDue(time, key)) cut(time, time + offset);
    octets += bytes.length;
    const end = time + duration;
    if (isDue(end, nextKey !== undefined)) cut(end, nextKey ?? end + offset);
    knownUntil = Math.max(knownUntil, end);
  }

  function isDue(time: number, key: boolean): boolean {
    const last = cuts.at(-1);
    if (last === undefined) return true;
    const elapsed = time - last.time;
    return (key && elapsed > segmentSeconds - TIME_TOLERANCE_S) || elapsed > MAX_SEGMENT_S || octets > MAX_OCTETS;
  }

  function place(fragment: LiveFragment): void {
    if (cuts.length === 0) cut(fragment.time, fragment.time);
    tracks.get(fragment.rendition)!.add(fragment);
  }

  /** Releases fragments whose segment is now known, in order within each rendition. */
  function release(upTo: number): void {
    for (const queue of heldFragments.values())
      while (queue.length > 0 && queue[0]!.time + queue[0]!.duration / 2 < upTo - TIME_TOLERANCE_S)
        place(queue.shift()!);
  }

  function fragment(fragment: LiveFragment): void {
    const queue = heldFragments.get(fragment.rendition);
    // The fragment is too late, or belongs to an unknown rendition.
    if (isEnded || queue === undefined) return;
    if (fragment.rendition === leader) {
      followLeader(fragment);
      place(fragment);
      return release(knownUntil);
    }
    queue.push(fragment);
    release(knownUntil);
    const newestAllowed = fragment.time - MAX_AHEAD_S;
    if (queue.length === 0 || queue[0]!.time > newestAllowed) return;
    // Video is absent or has stopped: audio continues without it.
    if (cuts.length > 0 && queue[0]!.time - cuts.at(-1)!.time > segmentSeconds) cut(queue[0]!.time, queue[0]!.time);
    knownUntil = Math.max(knownUntil, newestAllowed);
    release(knownUntil);
  }

  return {
    fragment,
    end() {
      if (isEnded) return;
      release(Infinity);
      isEnded = true;
      for (const track of tracks.values()) track.closeBefore(Infinity);
    },
  };
}

const segmentOf = (trackSegments: ReadonlyMap<string, TrackSegment>) => trackSegments.values().next().value!;
