import type { LiveSession } from "./session.ts";

/** CMAF pieces of one run of a broadcast, as the muxer of the source and the encoder make them; `package/` makes segments and playlists of them, `record/` keeps them. */
export interface LiveRendition {
  /** "source", "360p", "audio": the same in all runs of a broadcast. */
  name: string;
  kind: "video" | "audio";
  /** RFC 6381: "avc1.64001f", "mp4a.40.2". */
  codecs: string;
  /** Bits per second, at most and on average. */
  peakBandwidth: number;
  averageBandwidth: number;
  width?: number;
  height?: number;
  frameRate?: number;
  channels?: number;
}

export interface LiveFragment {
  rendition: string;
  /** Seconds since the beginning of the run: decoding time of its first sample, exact to the timescale. */
  time: number;
  duration: number;
  /** Begins with a key frame. Every key frame of video begins a fragment; true of audio always. */
  key: boolean;
  /** Video: seconds from decoding to presentation of the first frame. Absent: 0. */
  offset?: number;
  /** Video: number of frames. */
  frames?: number;
  /**
   * Presentation time of the key frame of the leading rendition that follows this fragment, in seconds on the run timeline: a segment can end here.
   * Set for every fragment that ends there, including audio. Absent: the GOP continues.
   */
  nextKey?: number;
  /** One moof and its mdat. */
  bytes: Buffer;
}

export interface LiveRun {
  /** 32 hex digits. */
  id: string;
  /** Epoch milliseconds of time zero. */
  started: number;
  /** All of them, before anything else: a rendition that begins later is none. Video first, the largest first. */
  renditions: readonly LiveRendition[];
  /** Of every video rendition, that segments are cut at: those of the source, or every two seconds. All renditions have them at the same times. */
  keyFrames: "source" | "encoder";
}

/** Who takes a run as it is made. Calls come in order; they must not throw. */
export interface RunSink {
  init(rendition: string, bytes: Buffer): void;
  fragment(fragment: LiveFragment): void;
  /** Nothing follows: the publisher is gone, or the next run begins. */
  end(): void;
}

/** Encodes a session as runs, each in its renditions. Implemented by `encode/`. */
export interface LiveEncoder {
  /**
   * `begin` is called at the beginning of every run, and what it returns takes that run. A session may have several, one after the other: when its tracks
   * change, its clock jumps, or an encoder has died. Each is ended before the next one begins. Never for a session of which nothing can be offered.
   */
  encode(session: LiveSession, begin: (run: LiveRun) => RunSink): LiveEncoding;
}

export interface LiveEncoding {
  /** Stops encoding and flushes what is encoded. */
  end(): void;
  /** Resolves within two seconds of the end of the session or of the encoding, when the last sink has ended. Never rejects. */
  done: Promise<void>;
}
