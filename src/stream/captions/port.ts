import type { TextTracks } from "../playback/index.ts";
import type { Video } from "../videos/index.ts";

/**
 * Captions of videos, one file per language. Every method that takes a video and a language throws videoNotFound and
 * badLanguage.
 */
export interface Captions extends TextTracks {
  /**
   * WebVTT or SubRip in UTF-8; replaces existing captions in this language. `unread`: the parts that could not be
   * parsed and were left out. Throws badCaptions, tooManyCaptions.
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
  /** Queues a job that converts text subtitles of the uploaded file to captions. Idempotent. */
  importEmbedded(video: Pick<Video, "uid" | "account" | "model">): Promise<void>;
  /** Ordered by language; includes captions in progress and failed ones. */
  list(account: string, uid: string): Promise<Caption[]>;
  /** Throws captionNotFound, like the two methods below. */
  get(account: string, uid: string, language: string): Promise<Caption>;
  text(account: string, uid: string, language: string): Promise<string>;
  delete(account: string, uid: string, language: string): Promise<void>;
  /** Removes everything that belongs to a video. Call it after the video and all its objects have been deleted. */
  onVideoDeleted(uid: string): Promise<void>;
  /** Enqueues generations whose job was lost in a crash. */
  recover(): Promise<void>;
  /** Starts generating captions. Called in processes that run this job. */
  start(): void;
  close(): Promise<void>;
}

export interface Caption {
  language: string;
  label: string;
  generated: boolean;
  status: "ready" | "inprogress" | "error";
}
