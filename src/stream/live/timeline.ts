import type { LiveRendition } from "./fragments.ts";

/**
 * Segments of one broadcast, beginning with the first: the source of HLS and DASH playlists, for both the live
 * broadcast and the recording. Created by `package/`, stored by `record/`, and read back from there by other processes.
 */
export interface LiveTimeline {
  /** Uid of the video. */
  video: string;
  runs: LiveTimelineRun[];
  /** Numbered from 0 without gaps; segment n of every rendition covers about the same seconds. */
  segments: LiveSegment[];
  /** The timeline is complete. */
  ended: boolean;
}

export interface LiveTimelineRun {
  id: string;
  /** Epoch milliseconds of time zero of its segments. */
  started: number;
  renditions: LiveRendition[];
}

export interface LiveSegment {
  n: number;
  /** Index in `runs`: a different value from the previous segment's means a discontinuity and another init segment. */
  run: number;
  /** Seconds on the run timeline. */
  start: number;
  /** Seconds by rendition: they differ by up to a frame. A missing rendition has no data in this segment. */
  durations: Record<string, number>;
  /**
   * Presentation time of the first sample by rendition, in seconds on the run timeline. Absent in older recordings:
   * equals `start`.
   */
  starts?: Record<string, number>;
}

/** A segment as cut by the packager. */
export interface CutSegment {
  /** Id of its run. */
  run: string;
  segment: LiveSegment;
  /** Fragments by rendition, unchanged. */
  bytes: Readonly<Record<string, readonly Buffer[]>>;
}

interface StoredLiveSegment {
  n: number;
  /** Id of its run. */
  run: string;
  /**
   * Random id of the writer: two processes may store segments with the same number and different bytes. Null for
   * segments of earlier versions.
   */
  writer: string | null;
}

/**
 * Returns the object key of a segment, under `stream/<video>/live/`. Deleting a video deletes everything under
 * `stream/<video>/`.
 */
export const liveSegmentKey = (video: string, rendition: string, { n, run, writer }: StoredLiveSegment): string =>
  writer === null
    ? `stream/${video}/live/${rendition}/${n}.m4s`
    : `stream/${video}/live/${run}/${rendition}/${n}-${writer}.m4s`;
export const liveInitKey = (video: string, rendition: string, run: string): string =>
  `stream/${video}/live/${rendition}/init-${run}.mp4`;
