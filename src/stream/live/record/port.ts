import type { Readable } from "node:stream";
import type { LiveRun, RunSink } from "../fragments.ts";
import type { LiveSegment, LiveTimeline } from "../timeline.ts";

/** What is kept of broadcasts: timelines in tables, segments as objects (`liveSegmentKey`, `liveInitKey`). */
export interface Recordings {
  /**
   * Begins to keep a video, or goes on with it: what another process has left open is finished first. One process at a time for one video.
   * `onFault`: called once if the disk is full (writes are retried), or if too much data is queued and recording stops.
   */
  open(video: string, options?: { onFault?: (err: unknown) => void }): Promise<Recording>;
  /** Read from the tables; of one that runs on, only what is new. Undefined: nothing is kept of this video. */
  timeline(video: string): Promise<LiveTimeline | undefined>;
  /** One segment, or the initialisation segment of a run. */
  stored(video: string, rendition: string, what: number | { run: string }): Promise<StoredPiece | undefined>;
  /** Puts what a killed process left open of this video into segments. Does nothing twice. */
  recover(video: string): Promise<void>;
  /** Nothing follows: the timeline is ended. Recovers first. Also for a recording that nobody has open. */
  finish(video: string): Promise<RecordingSummary>;
  /** Rows of a deleted video; its objects go with it. */
  clean(video: string): Promise<void>;
}

export interface StoredPiece {
  size: number;
  read(range?: { start: number; end?: number }): Readable;
  bytes(): Promise<Buffer>;
}

export interface RecordingSummary {
  segments: number;
  /** Seconds that are shown, gaps between runs left out. */
  duration: number;
  /** Octets of all renditions. */
  size: number;
  /** Of the largest picture; 0 where there is sound only. */
  width: number;
  height: number;
}

/** A video that is being recorded in this process. */
export interface Recording {
  /** What was there when it was opened. */
  readonly timeline: LiveTimeline;
  /** Takes what comes of a run, so that a crash does not lose what is in no segment yet. Before the packager takes it. */
  run(run: LiveRun): RunSink;
  /** A segment is cut, and kept from now on. Octets by rendition, as `LiveFragment.bytes` were. */
  keep(cut: CutSegment): void;
  /** Resolves when all data passed so far is stored or discarded; while the store fails, after a few seconds. */
  settled(): Promise<void>;
  /** Stores the data passed so far, retrying for a few seconds if the store fails. Accepts no more data. */
  close(): Promise<void>;
}

/** A segment as the packager has cut it. */
export interface CutSegment {
  /** Id of its run. */
  run: string;
  segment: LiveSegment;
  bytes: Readonly<Record<string, readonly Buffer[]>>;
}
