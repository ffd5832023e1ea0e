import type { LiveSession } from "./session.ts";

/**
 * CMAF fragments of one run of a broadcast, from the source muxer or the encoder; `package/` makes segments and
 * playlists from them, `record/` stores them.
 */
export interface LiveRendition {
  /** "source", "360p", "audio": the same in all runs of a broadcast. */
  name: string;
  kind: "video" | "audio";
  /** RFC 6381: "avc1.64001f", "mp4a.40.2". */
  codecs: string;
  /** Bits per second, peak and average. */
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
  /** Begins with a key frame. Every video key frame begins a fragment; always true for audio. */
  key: boolean;
  /** Video: seconds from decoding to presentation of the first frame. Absent: 0. */
  offset?: number;
  /** Video: number of frames. */
  frames?: number;
  /**
   * Presentation time of the key frame of the leading rendition that follows this fragment, in seconds on the run
   * timeline: a segment can end here. Set for every fragment that ends there, including audio. If absent, the GOP
   * continues.
   */
  nextKey?: number;
  /** One moof and its mdat. */
  bytes: Buffer;
}

/** Continuous media on one timeline: a period in DASH, and the segments between two discontinuities in HLS. */
export interface LiveRun {
  /** 32 hex digits. */
  id: string;
  /** Epoch milliseconds of the run's time zero. */
  started: number;
  /** All renditions of the run; none can be added later. Video first, the largest first. */
  renditions: readonly LiveRendition[];
  /**
   * Key frames of every video rendition that begin segments: those of the source, or one every two seconds. They have
   * the same times in all renditions.
   */
  keyFrames: "source" | "encoder";
}

/** Receiver of a run. Its methods are called in order and must not throw. */
export interface RunSink {
  init(rendition: string, bytes: Buffer): void;
  fragment(fragment: LiveFragment): void;
  /** Called last, when the publisher has disconnected or the next run begins. */
  end(): void;
}

/** Encodes a session as a sequence of runs, each with its renditions. Implemented by `encode/`. */
export interface LiveEncoder {
  /**
   * `begin` is called at the start of every run and returns its sink. A session may have several consecutive runs: when
   * its tracks change, its clock jumps, or an encoder has died. Each run ends before the next one begins. Never called
   * for a session that cannot be offered.
   */
  encode(session: LiveSession, begin: (run: LiveRun) => RunSink): LiveEncoding;
}

export interface LiveEncoding {
  /** Stops encoding and flushes the encoder output. */
  end(): void;
  /**
   * Resolves within two seconds of the end of the session or of the encoding, when the last sink has ended. Never
   * rejects.
   */
  done: Promise<void>;
}
