import type { LiveRendition } from "./fragments.ts";

/**
 * The pieces of one broadcast, from its first segment on: what HLS and DASH playlists are written from while it runs, and of its recording for ever.
 * Made by `package/` as it goes, kept by `record/`, and read back from there by processes that have not made it.
 */
export interface LiveTimeline {
  /** Uid of the video. */
  video: string;
  runs: LiveTimelineRun[];
  /** Numbered from 0 without gaps; segment n of every rendition covers about the same seconds. */
  segments: LiveSegment[];
  /** Nothing will be added. */
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
  /** Index in `runs`: where it differs from the segment before, there is a discontinuity and another initialisation segment. */
  run: number;
  /** Seconds on the timeline of the run. */
  start: number;
  /** Seconds, by rendition: its segments differ by a frame. A rendition that is not named has nothing there. */
  durations: Record<string, number>;
  /** Presentation time of the first sample by rendition, in seconds on the run timeline. Absent in older recordings: equals `start`. */
  starts?: Record<string, number>;
}

/** Where things lie: `stream/<video>/live/<rendition>/…`. Deleting a video deletes everything below `stream/<video>/`. */
export const liveSegmentKey = (video: string, rendition: string, n: number): string =>
  `stream/${video}/live/${rendition}/${n}.m4s`;
export const liveInitKey = (video: string, rendition: string, run: string): string =>
  `stream/${video}/live/${rendition}/init-${run}.mp4`;
