import type { TextTracks } from "../playback/index.ts";
import type { Video } from "../videos/index.ts";

/** Captions of videos, one file for each language. Throws videoNotFound and badLanguage wherever a video and a language are named. */
export interface Captions extends TextTracks {
  /** WebVTT or SubRip in UTF-8; what was there in this language is replaced. `unread`: what could not be read and was left out. Throws badCaptions, tooManyCaptions. */
  upload(
    account: string,
    uid: string,
    language: string,
    file: Uint8Array,
  ): Promise<{ caption: Caption; unread: string | undefined }>;
  /** Has them made of what is spoken. Throws captionsNotConfigured, captionLanguageUnsupported, notReady, videoFailed, noAudio, videoTooLong, captionsExist. */
  generate(account: string, uid: string, language: string): Promise<Caption>;
  /** Queues a job that turns text subtitles of the uploaded file into captions. Idempotent. */
  adopt(video: Pick<Video, "uid" | "account" | "model">): Promise<void>;
  /** By language; those that are being made, and those that could not be, too. */
  list(account: string, uid: string): Promise<Caption[]>;
  /** Throws captionNotFound, as the two below do. */
  get(account: string, uid: string, language: string): Promise<Caption>;
  text(account: string, uid: string, language: string): Promise<string>;
  delete(account: string, uid: string, language: string): Promise<void>;
  /** The video is gone, and all its objects: nothing is to be kept of it. */
  forgetVideo(uid: string): Promise<void>;
  /** Enqueues generations that lost their job in a crash. */
  recover(): Promise<void>;
  /** Makes captions from now on, where this process is one that does. */
  start(): void;
  close(): Promise<void>;
}

export interface Caption {
  language: string;
  label: string;
  generated: boolean;
  status: "ready" | "inprogress" | "error";
}
