import type { LiveRun, RunSink } from "../fragments.ts";
import type { LiveTimeline, CutSegment } from "../timeline.ts";

/** Broadcasts that are packaged in this process. */
export interface LivePackages {
  /**
   * Starts a video, or continues one from another process: its numbers follow those of `timeline`. Ends the video first
   * if it is open.
   */
  open(video: string, options?: OpenPackageOptions): LivePackage;
  /** Stops packaging; waiting requests are completed. */
  close(): void;
}

export interface OpenPackageOptions {
  /** The existing timeline. Default: empty. */
  timeline?: LiveTimeline;
  /** Called for every segment that is complete in all renditions, in order. Must not throw. */
  onSegment?: (cut: CutSegment) => void;
}

export interface LivePackage {
  /** Packages a run. One at a time: starting a run ends the previous one. */
  run(run: LiveRun): RunSink;
  /** Returns the current timeline: always the same object, which grows. Do not modify it. */
  timeline(): LiveTimeline;
  /** Ends the broadcast: its playlists end, and remain in memory for a minute for current viewers. */
  end(): void;
  /** Stops packaging in this process, although the broadcast may continue in another one. */
  stop(): void;
}
