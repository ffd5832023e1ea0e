import type { LiveFragment, LiveRun } from "../fragments.ts";
import type { LiveSegment } from "../timeline.ts";
import type { CutSegment } from "./port.ts";
import { createTrack, type SegmentCut, type LiveTrack, type TrackSegment } from "./track.ts";

interface CutterDeps {
  run: Pick<LiveRun, "id" | "started" | "renditions">;
  /** Number of its first segment. */
  first: number;
  segmentSeconds: number;
  partSeconds: number;
  /** A segment of a rendition has begun, has a new part, or is complete. */
  onChange(rendition: string, segment: TrackSegment): void;
  /** Called for segments that are complete in all renditions, in order. `segment.run` is 0. */
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
const MAX_S = 20;
/** The same limit in octets of the leading rendition: 25 Mbit/s for that time, or a clock that hardly advances. */
const MAX_OCTETS = 64 * 1024 * 1024;
/** Maximum lead of audio over video before segments are cut without video. */
const MAX_AHEAD_S = 4;
/** Maximum lag of a rendition before it is omitted. */
const MAX_BEHIND_S = 15;
const SAME = 0.002;

/** Cuts a run into segments: at key frames of its first rendition, and at the same times in all others. */
export function createCutter({ run, first, segmentSeconds, partSeconds, onChange, onSegment }: CutterDeps): Cutter {
  const cuts: SegmentCut[] = [];
  const tracks = new Map<string, LiveTrack>();
  const held = new Map<string, LiveFragment[]>();
  /** Segments that are complete in some renditions, but not in all. */
  const waiting = new Map<number, Map<string, TrackSegment>>();
  const leader = run.renditions[0]?.name;
  const started = { id: run.id, started: run.started };
  /** Segment boundaries are known up to this time on the timeline. */
  let known = -Infinity;
  /** Octets of the leading rendition since the last cut. */
  let octets = 0;
  let complete = first;
  let ended = false;

  for (const { name, kind } of run.renditions) {
    tracks.set(
      name,
      createTrack({ run: started, kind, cuts, partSeconds, onSegment: (segment) => changed(name, segment) }),
    );
    held.set(name, []);
  }

  function changed(rendition: string, segment: TrackSegment): void {
    onChange(rendition, segment);
    if (!segment.isComplete) return;
    waiting.getOrInsertComputed(segment.n, () => new Map()).set(rendition, segment);
    for (let all = waiting.get(complete); all !== undefined && all.size === tracks.size; all = waiting.get(complete)) {
      waiting.delete(complete++);
      const there = [...all].filter(([, { parts }]) => parts.length > 0);
      const { n, start } = segmentOf(all);
      const listed: LiveSegment = {
        n,
        run: 0,
        start,
        durations: Object.fromEntries(there.map(([name, one]) => [name, one.duration])),
        starts: Object.fromEntries(there.map(([name, one]) => [name, one.presentationStart!])),
      };
      // A segment without any data, after the last fragment of a run, is skipped.
      if (there.length > 0)
        onSegment({
          run: run.id,
          segment: listed,
          bytes: Object.fromEntries(there.map(([name, one]) => [name, one.parts.flatMap(({ bytes }) => bytes)])),
        });
    }
  }

  function cut(time: number, pts: number): void {
    cuts.push({ n: first + cuts.length, time, pts });
    octets = 0;
    const [last, before] = [cuts.at(-1)!, cuts.at(-2)];
    if (before === undefined) return;
    for (const track of tracks.values()) {
      const lagging = cuts.findLast((one) => one.time <= last.time - MAX_BEHIND_S);
      if (lagging !== undefined) track.closeBefore(lagging.n);
    }
  }

  /** The end of a segment is determined with its last fragment, so that playlists announce the correct next part. */
  function lead({ time, duration, key, offset = 0, nextKey, bytes }: LiveFragment): void {
    if (isDue(time, key)) cut(time, time + offset);
    octets += bytes.length;
    const end = time + duration;
    if (isDue(end, nextKey !== undefined)) cut(end, nextKey ?? end + offset);
    known = Math.max(known, end);
  }

  function isDue(time: number, key: boolean): boolean {
    const last = cuts.at(-1);
    if (last === undefined) return true;
    const since = time - last.time;
    return (key && since > segmentSeconds - SAME) || since > MAX_S || octets > MAX_OCTETS;
  }

  function place(fragment: LiveFragment): void {
    if (cuts.length === 0) cut(fragment.time, fragment.time);
    tracks.get(fragment.rendition)!.add(fragment);
  }

  /** Releases fragments whose segment is now known, in order within each rendition. */
  function release(upTo: number): void {
    for (const queue of held.values())
      while (queue.length > 0 && queue[0]!.time + queue[0]!.duration / 2 < upTo - SAME) place(queue.shift()!);
  }

  function fragment(fragment: LiveFragment): void {
    const queue = held.get(fragment.rendition);
    // The fragment is too late, or belongs to an unknown rendition.
    if (ended || queue === undefined) return;
    if (fragment.rendition === leader) {
      lead(fragment);
      place(fragment);
      return release(known);
    }
    queue.push(fragment);
    release(known);
    const ahead = fragment.time - MAX_AHEAD_S;
    if (queue.length === 0 || queue[0]!.time > ahead) return;
    // Video is absent or has stopped: audio continues without it.
    if (cuts.length > 0 && queue[0]!.time - cuts.at(-1)!.time > segmentSeconds) cut(queue[0]!.time, queue[0]!.time);
    known = Math.max(known, ahead);
    release(known);
  }

  return {
    fragment,
    end() {
      if (ended) return;
      release(Infinity);
      ended = true;
      for (const track of tracks.values()) track.closeBefore(Infinity);
    },
  };
}

const segmentOf = (all: ReadonlyMap<string, TrackSegment>) => all.values().next().value!;
