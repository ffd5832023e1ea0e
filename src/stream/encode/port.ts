import type { ObjectHandle } from "../../store/index.ts";
import type { Video } from "../videos/index.ts";

/**
 * Segments of videos by video, rendition and number: stored, or encoded on request. Rendition names are those of
 * `model.ladder`, MAIN_AUDIO, and `audio-<uid>` of extra tracks. `init` is the initialization segment, one
 * per rendition.
 */
export interface Segments {
  /**
   * Undefined if the video has no such segment. Calls for one segment share one encoder run; `signal` cancels the
   * request of a viewer that disconnects. `lookahead` (default true): the next two are encoded as well, if no other
   * request is waiting. Throws encoderBusy (503) if too many are waiting, encodingFailed, mediaToolsMissing.
   */
  get(
    video: Video,
    rendition: string,
    segment: number | "init",
    options?: { signal?: AbortSignal; lookahead?: boolean },
  ): Promise<ObjectHandle | undefined>;
  /**
   * Like `get`, but a segment that must be encoded is returned once its beginning is encoded: for viewers who can use
   * it in parts.
   */
  follow(
    video: Video,
    rendition: string,
    segment: number | "init",
    options?: { signal?: AbortSignal },
  ): Promise<GrowingSegment | ObjectHandle | undefined>;
  /** Resolves with the segment if it is already stored, and undefined otherwise; encodes nothing. */
  findStored(video: Video, rendition: string, segment: number | "init"): Promise<ObjectHandle | undefined>;
  close(): Promise<void>;
}

/** A segment that is still being encoded. */
export interface GrowingSegment {
  /**
   * Yields the octets of the segment as they are encoded; ends once exactly these octets are stored. Call it once.
   * Throws if the rest cannot be encoded, or if another process has stored the segment with different octets: the
   * response must then be aborted, so that it does not look complete.
   */
  read(): AsyncIterable<Buffer>;
}

/** Returns the object key of a segment: `stream/<video>/<rendition>/<n>.m4s`. */
export const segmentKey = (uid: string, rendition: string, segment: number | "init"): string =>
  `stream/${uid}/${rendition}/${segment === "init" ? "init.mp4" : `${segment}.m4s`}`;

/**
 * Sources of added audio tracks: rendition `audio-<uid>` is encoded from its own file, not from the video's.
 * Implemented by `audio/`.
 */
export interface AudioSources {
  /**
   * `rendition`: `audio-<uid>`. Undefined if the video has no such track, or it is not ready. Called before every
   * encoder run.
   */
  find(video: Video, rendition: string): Promise<AudioSource | undefined>;
}

/** One stream of a stored file, padded with silence or trimmed to the length of the video. */
export interface AudioSource {
  /** Object key. */
  key: string;
  /** ffmpeg's name for the demuxer, the only one allowed for this file. */
  format: string;
  /** Index of the stream in the file. */
  stream: number;
  codec: string;
  channels: number;
  sampleRate: number;
  /** Position in the file, in seconds, where the video starts. Default 0. */
  start?: number;
  /** In seconds, as reported by the file. */
  duration: number;
}
