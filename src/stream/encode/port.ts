import type { ObjectHandle } from "../../store/index.ts";
import type { Video } from "../videos/index.ts";

/**
 * Segments of videos by their address: stored, or encoded now. Rendition names are those of `model.ladder`, MAIN_AUDIO, and `audio-<uid>` of extra
 * tracks. `init` is the initialisation segment, the same octets for every segment of the rendition.
 */
export interface Segments {
  /**
   * Undefined: the video has no such segment. Calls for one segment share one encoder run; a viewer who leaves (`signal`) takes his wish back.
   * `ahead` (default true): the next two are made as well, when nobody waits for anything.
   * Throws encoderBusy (503) when too many wait already, encodingFailed, mediaToolsMissing.
   */
  get(
    video: Video,
    rendition: string,
    segment: number | "init",
    options?: { signal?: AbortSignal; ahead?: boolean },
  ): Promise<ObjectHandle | undefined>;
  /** Whether it is stored already: nothing is encoded. */
  stored(video: Video, rendition: string, segment: number | "init"): Promise<ObjectHandle | undefined>;
  close(): Promise<void>;
}

/** Where a segment lies: `stream/<video>/<rendition>/<n>.m4s`. */
export const segmentKey = (uid: string, rendition: string, segment: number | "init"): string =>
  `stream/${uid}/${rendition}/${segment === "init" ? "init.mp4" : `${segment}.m4s`}`;

/** Sources of added audio tracks: rendition `audio-<uid>` is encoded from another file than the video. Implemented by `audio/`. */
export interface AudioSources {
  /** `rendition`: `audio-<uid>`. Undefined: the video has no such track, or it is not ready. Asked before every encoder run. */
  find(video: Video, rendition: string): Promise<AudioSource | undefined>;
}

/** One stream of a stored file, padded with silence or trimmed to the length of the video. */
export interface AudioSource {
  /** Object. */
  key: string;
  /** ffmpeg's name of the demuxer: the only one that is allowed for this file. */
  format: string;
  /** Index of the stream in the file. */
  stream: number;
  codec: string;
  channels: number;
  sampleRate: number;
  /** Position in the file, in seconds, where the video starts. Default 0. */
  start?: number;
  /** Seconds, as the file says. */
  duration: number;
}
