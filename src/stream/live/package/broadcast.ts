import type { LiveRun, RunSink } from "../fragments.ts";
import type { LiveSegment, LiveTimeline } from "../timeline.ts";
import { createCutter } from "./cutter.ts";
import type { LivePackage, OpenPackage } from "./port.ts";
import { targetDurationOf, wholeSeconds } from "./lists.ts";
import { createPartTargets, type PartTargets } from "./part-targets.ts";
import { createMeasuredRates, type MeasuredRates } from "./rates.ts";
import { createRecentSegments, type RecentSegments } from "./recent.ts";

/** What is asked of a broadcast that is packaged here, by those who send it to viewers. */
export interface Broadcast extends LivePackage {
  readonly video: string;
  /** The run that comes now, or the last one. */
  readonly current: LiveRun | undefined;
  /** Whether something comes: a publisher is there. */
  readonly running: boolean;
  /** Whoever waits for more waits in vain: it is over, or packaged elsewhere. */
  readonly over: boolean;
  /** Raised by every change. */
  readonly version: number;
  readonly recent: RecentSegments;
  /** Seconds: no segment so far is longer, rounded to the nearest. Never falls. */
  readonly targetDuration: number;
  /** Undefined: not in memory (any more). */
  init(rendition: string, run: string): Buffer | undefined;
  readonly partTargets: Pick<PartTargets, "of">;
  readonly rates: Pick<MeasuredRates, "of">;
  /** How many wait for a change. */
  readonly waiting: number;
  /** Called after every change. Returns the end of it. */
  onChange(listener: () => void): () => void;
}

export interface BroadcastParts extends OpenPackage {
  video: string;
  segmentSeconds: number;
  partSeconds: number;
  /** The broadcast is over; or it is not packaged here any more. */
  onEnd(how: "ended" | "stopped"): void;
}

/** Of the last runs: older ones are read from where they were kept. */
const MOST_INITS = 100;

export function createBroadcast({
  video,
  timeline: before,
  onSegment,
  segmentSeconds,
  partSeconds,
  onEnd,
}: BroadcastParts): Broadcast {
  const timeline: LiveTimeline = {
    video,
    runs: [...(before?.runs ?? [])],
    segments: [...(before?.segments ?? [])],
    ended: false,
  };
  const recent = createRecentSegments();
  const rates = createMeasuredRates();
  const inits = new Map<string, Buffer>();
  const listeners = new Set<() => void>();
  let current: LiveRun | undefined;
  let running: (() => void) | undefined;
  let target = targetDurationOf(timeline.segments, segmentSeconds);
  const partTargets = createPartTargets(partSeconds);
  let version = 0;
  let stopped = false;

  function changed(): void {
    version++;
    for (const listener of listeners) listener();
  }

  function list(run: LiveRun, segment: LiveSegment): LiveSegment {
    // A run that came to nothing is in no timeline.
    if (timeline.runs.at(-1)?.id !== run.id)
      timeline.runs.push({ id: run.id, started: run.started, renditions: [...run.renditions] });
    const listed = { ...segment, run: timeline.runs.length - 1 };
    timeline.segments.push(listed);
    recent.trim(timeline.segments.length);
    return listed;
  }

  function run(run: LiveRun): RunSink {
    running?.();
    current = run;
    const cutter = createCutter({
      run,
      first: timeline.segments.length,
      segmentSeconds,
      partSeconds,
      onChange(rendition, segment) {
        recent.put(rendition, segment);
        if (segment.whole) rates.add(rendition, segment);
        target = Math.max(target, wholeSeconds(segment.duration));
        if (segment.parts.length > 0) partTargets.add(rendition, segment.parts.at(-1)!.duration);
        changed();
      },
      onSegment(cut) {
        const listed = { ...cut, segment: list(run, cut.segment) };
        onSegment?.(listed);
      },
    });
    const finish = () => {
      if (running !== finish) return;
      running = undefined;
      cutter.end();
      changed();
    };
    running = finish;
    changed();
    return {
      init(rendition, bytes) {
        inits.set(`${rendition}/${run.id}`, bytes);
        for (const key of inits.keys()) if (inits.size > MOST_INITS) inits.delete(key);
      },
      fragment: (fragment) => running === finish && cutter.fragment(fragment),
      end: finish,
    };
  }

  return {
    video,
    run,
    recent,
    rates,
    partTargets,
    get current() {
      return current;
    },
    get running() {
      return running !== undefined;
    },
    get over() {
      return stopped || timeline.ended;
    },
    get version() {
      return version;
    },
    get waiting() {
      return listeners.size;
    },
    get targetDuration() {
      return target;
    },
    timeline: () => timeline,
    init: (rendition, id) => inits.get(`${rendition}/${id}`),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop() {
      running?.();
      stopped = true;
      changed();
      onEnd("stopped");
    },
    end() {
      if (timeline.ended) return;
      running?.();
      timeline.ended = true;
      changed();
      onEnd("ended");
    },
  };
}
