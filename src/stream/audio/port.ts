import type { Video } from "../videos/index.ts";

/** What an audio rendition is encoded from. Rendition `audio-<uid>` of an added track is made of another file than the video. */
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

/** A track that was added to a video, as the API shows it. */
export interface AddedTrack {
  uid: string;
  label: string;
  default: boolean;
  status: "queued" | "ready" | "error";
}
