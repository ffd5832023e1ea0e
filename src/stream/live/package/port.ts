import type { LiveRun, RunSink } from "../fragments.ts";
import type { LiveSegment, LiveTimeline } from "../timeline.ts";

/** The broadcasts that are packaged in this process. */
export interface LivePackages {
  /** Begins a video, or goes on with one that another process has begun: its numbers follow those of `timeline`. One that is open already is ended first. */
  open(video: string, options?: OpenPackage): LivePackage;
  /** Nothing is packaged any more; who waits for a part is answered. */
  close(): void;
}

export interface OpenPackage {
  /** What is there already. Absent: nothing. */
  timeline?: LiveTimeline;
  /** Every segment that is complete in all renditions, in order. Must not throw. */
  onSegment?: (cut: CutSegment) => void;
}

export interface LivePackage {
  /** What comes of a run. One at a time: the one before is ended by it. */
  run(run: LiveRun): RunSink;
  /** As it is now: the same object, which grows. Not to be changed. */
  timeline(): LiveTimeline;
  /** The broadcast is over: playlists end, and stay in memory for a minute for those who watch. */
  end(): void;
  /** Nothing is packaged here any more, though the broadcast may go on in another process. */
  stop(): void;
}

export interface CutSegment {
  /** Id of its run. */
  run: string;
  segment: LiveSegment;
  /** By rendition, as the fragments were. */
  bytes: Readonly<Record<string, readonly Buffer[]>>;
}
