/** A chapter lasts until the next one starts; the last one lasts until the video ends. */
export interface Chapter {
  /** Seconds from the start of the video, in whole milliseconds. */
  start: number;
  /** One line of text, 1 to 200 characters. */
  title: string;
}

/** Chapters of videos. Every method that takes an account throws videoNotFound. */
export interface Chapters {
  /** Returns the chapters sorted by start; empty if the video has none. */
  get(account: string, uid: string): Promise<Chapter[]>;
  /** Replaces all chapters of the video. Returns them sorted by start. Throws badChapters. */
  set(account: string, uid: string, chapters: readonly Chapter[]): Promise<Chapter[]>;
  /** Replaces all chapters of the video with the cues of a WebVTT or SubRip file. Throws badChapters. */
  importFile(account: string, uid: string, file: Uint8Array): Promise<Chapter[]>;
  /** Returns the chapters as WebVTT, one cue per chapter. */
  text(account: string, uid: string): Promise<string>;
  delete(account: string, uid: string): Promise<void>;
  /** Call it after a video has been deleted. */
  onVideoDeleted(uid: string): Promise<void>;

  /** Returns the chapters that start before the end of the video. For viewers, so the account is not checked. */
  of(video: { uid: string; duration: number }): Promise<Chapter[]>;
}
