import type { TextTracks } from "../playback/index.ts";
import type { Video } from "../videos/index.ts";

/**
 * Captions of videos, one file per language. Throws videoNotFound and badLanguage wherever a video and a language are
 * named.
 */
export interface Captions extends TextTracks {
  /**
   * WebVTT or SubRip in UTF-8; replaces existing captions in this language. `unread`: what could not be parsed and was
   * left out. Throws badCaptions, tooManyCaptions.
   */
  upload(
    account: string,
    uid: string,
    language: string,
    file: Uint8Array,
  ): Promise<{ caption: Caption; unread: string | undefined }>;
  /**
   * Generates captions from speech. Throws captionsNotConfigured, captionLanguageUnsupported, notReady, videoFailed,
   * noAudio, videoTooLong, captionsExist.
   */
  generate(account: string, uid: string, language: string): Promise<Caption>;
  /** Queues a job that turns text subtitles of the uploaded file into captions. Idempotent. */
  adopt(video: Pick<Video, "uid" | "account" | "model">): Promise<void>;
  /** Ordered by language; includes captions in progress and failed ones. */
  list(account: string, uid: string): Promise<Caption[]>;
  /** Throws captionNotFound, like the two methods below. */
  get(account: string, uid: string, language: string): Promise<Caption>;
  text(account: string, uid: string, language: string): Promise<string>;
  delete(account: string, uid: string, language: string): Promise<void>;
  /** The video was deleted with all its objects: nothing of it may stay stored. */
  forgetVideo(uid: string): Promise<void>;
  /** Enqueues generations whose job was lost in a crash. */
  recover(): Promise<void>;
  /** Starts generating captions, in processes that run this job. */
  start(): void;
  close(): Promise<void>;
}

export interface Caption {
  language: string;
  label: string;
  generated: boolean;
  status: "ready" | "inprogress" | "error";
}
