import type { LiveRun, RunSink } from "../fragments.ts";
import type { LiveSegment, LiveTimeline } from "../timeline.ts";
import { createCutter } from "./cutter.ts";
import type { LivePackage, OpenPackageOptions } from "./port.ts";
import { liveTargetDuration, wholeSeconds } from "./lists.ts";
import { createPartTargets, type PartTargets } from "./part-targets.ts";
import { createMeasuredRates, type MeasuredRates } from "./rates.ts";
import { createRecentSegments, type RecentSegments } from "./recent.ts";

/** A broadcast packaged in this process, as seen by playback. */
export interface Broadcast extends LivePackage {
  readonly video: string;
  /** The current run, or the last one. */
  readonly current: LiveRun | undefined;
  /** True while a publisher is connected. */
  readonly isRunning: boolean;
  /** Waiting for more data is useless: the broadcast has ended, or another process packages it. */
  readonly isClosed: boolean;
  /** Incremented by every change. */
  readonly version: number;
  readonly recent: RecentSegments;
  /** Maximum segment duration so far, in seconds, rounded to the nearest integer. Never decreases. */
  readonly targetDuration: number;
  /** Undefined if it is not yet or no longer in memory. */
  init(rendition: string, run: string): Buffer | undefined;
  readonly partTargets: Pick<PartTargets, "of">;
  readonly rates: Pick<MeasuredRates, "of">;
  /** Number of requests waiting for a change. */
  readonly waiterCount: number;
  /** Called after every change. Returns an unsubscribe function. */
  onChange(listener: () => void): () => void;
}

interface BroadcastDeps extends OpenPackageOptions {
  video: string;
  segmentSeconds: number;
  partSeconds: number;
  /** Called when the broadcast has ended, or when this process has stopped packaging it. */
  onEnd(endMode: "ended" | "stopped"): void;
}

/** Maximum number of init segments in memory; older ones are read from storage. */
const MAX_INITS = 100;

export function createBroadcast({
  video,
  timeline: before,
  onSegment,
  segmentSeconds,
  partSeconds,
  onEnd,
}: BroadcastDeps): Broadcast {
  const timeline: LiveTimeline = {
    video,
    runs: [...(before?.runs ?? [])],
    segments: [...(before?.segments ?? [])],
    ended: false,
  };
  const recentSegments = createRecentSegments();
  const rates = createMeasuredRates();
  const inits = new Map<string, Buffer>();
  const listeners = new Set<() => void>();
  let currentRun: LiveRun | undefined;
  let endRun: (() => void) | undefined;
  let target = liveTargetDuration(timeline.segments, segmentSeconds);
  const partTargets = createPartTargets(partSeconds);
  let version = 0;
  let isStopped = false;

  function notifyListeners(): void {
    version++;
    for (const listener of listeners) listener();
  }

  function list(run: LiveRun, segment: LiveSegment): LiveSegment {
    // A run without segments does not appear in the timeline.
    if (timeline.runs.at(-1)?.id !== run.id)
      timeline.runs.push({ id: run.id, started: run.started, renditions: [...run.renditions] });
    const listedSegment = { ...segment, run: timeline.runs.length - 1 };
    timeline.segments.push(listedSegment);
    recentSegments.trim(timeline.segments.length);
    return listedSegment;
  }

  function run(run: LiveRun): RunSink {
    endRun?.();
    currentRun = run;
    const cutter = createCutter({
      run,
      first: timeline.segments.length,
      segmentSeconds,
      partSeconds,
      onChange(rendition, segment) {
        recentSegments.put(rendition, segment);
        if (segment.isComplete) rates.add(rendition, segment);
        target = Math.max(target, wholeSeconds(segment.duration));
        if (segment.parts.length > 0) partTargets.add(rendition, segment.parts.at(-1)!.duration);
        notifyListeners();
      },
      onSegment(cut) {
        const listedCut = { ...cut, segment: list(run, cut.segment) };
        onSegment?.(listedCut);
      },
    });
    const finish = () => {
      if (endRun !== finish) return;
      endRun = undefined;
      cutter.end();
      notifyListeners();
    };
    endRun = finish;
    notifyListeners();
    return {
      init(rendition, bytes) {
        inits.set(`${rendition}/${run.id}`, bytes);
        for (const key of inits.keys()) if (inits.size > MAX_INITS) inits.delete(key);
      },
      fragment: (fragment) => endRun === finish && cutter.fragment(fragment),
      end: finish,
    };
  }

  return {
    video,
    run,
    recent: recentSegments,
    rates,
    partTargets,
    get current() {
      return currentRun;
    },
    get isRunning() {
      return endRun !== undefined;
    },
    get isClosed() {
      return isStopped || timeline.ended;
    },
    get version() {
      return version;
    },
    get waiterCount() {
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
      endRun?.();
      isStopped = true;
      notifyListeners();
      onEnd("stopped");
    },
    end() {
      if (timeline.ended) return;
      endRun?.();
      timeline.ended = true;
      notifyListeners();
      onEnd("ended");
    },
  };
}
