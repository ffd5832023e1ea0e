import type { Readable } from "node:stream";
import type { LiveRun, RunSink } from "../fragments.ts";
import type { LiveTimeline, CutSegment } from "../timeline.ts";

/** Stored broadcasts: timelines in tables, segments as objects (`liveSegmentKey`, `liveInitKey`). */
export interface Recordings {
  /**
   * Starts or continues the recording of a video; first finishes data left by another process. One process at a time
   * per video. `onFault`: called once if the disk is full (writes are retried), or if too much data is queued and
   * recording stops.
   */
  open(video: string, options?: { onFault?: (err: unknown) => void }): Promise<Recording>;
  /** Read from the tables; for a running broadcast, only new rows. Undefined if nothing is stored for this video. */
  timeline(video: string): Promise<LiveTimeline | undefined>;
  /** Returns a segment, or the init segment of a run. */
  stored(video: string, rendition: string, segmentOrRun: number | { run: string }): Promise<StoredSegment | undefined>;
  /** Converts unfinished data from a killed process into segments. Idempotent. */
  recover(video: string): Promise<void>;
  /** Ends the timeline after recovering unfinished data. Also valid for a recording that no process has open. */
  finish(video: string): Promise<RecordingSummary>;
  /** Deletes the rows of a deleted video; its objects are deleted with it. */
  clean(video: string): Promise<void>;
}

export interface StoredSegment {
  size: number;
  read(range?: { start: number; end?: number }): Readable;
  bytes(): Promise<Buffer>;
}

export interface RecordingSummary {
  segments: number;
  /** Playback duration in seconds, without gaps between runs. */
  duration: number;
  /** Octets of all renditions. */
  size: number;
  /** Size of the largest video; 0 for audio only. */
  width: number;
  height: number;
}

/** A video that is being recorded by this process. */
export interface Recording {
  /** The timeline when the recording was opened. */
  readonly timeline: LiveTimeline;
  /**
   * Stores incoming data of a run, so that a crash does not lose data that has not been added to a segment. Call it
   * before the packager.
   */
  run(run: LiveRun): RunSink;
  /** Stores a segment. Octets by rendition, as in `LiveFragment.bytes`. */
  addSegment(cut: CutSegment): void;
  /** Resolves when all data passed so far has been stored or discarded; if the store fails, after a few seconds. */
  settled(): Promise<void>;
  /** Stores the data passed so far, retrying for a few seconds if the store fails. Accepts no further data. */
  close(): Promise<void>;
}
