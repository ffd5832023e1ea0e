import type { MediaModel } from "../model.ts";
import type {
  ErrorReason,
  ListedVideo,
  PublicDetails,
  Video,
  VideoMeta,
  VideoState,
  WatermarkProfile,
} from "./video.ts";

/** All properties that can be set when a video is created, by any upload method. */
export interface VideoDraft {
  creator?: string | null;
  meta?: VideoMeta;
  allowedOrigins?: string[];
  requireSignedURLs?: boolean;
  scheduledDeletion?: number | null;
  thumbnailTimestampPct?: number;
  watermark?: WatermarkProfile | null;
  maxDurationSeconds?: number | null;
  maxSizeBytes?: number | null;
  uploadExpiry?: number | null;
  clippedFrom?: string;
  clip?: { start: number; end: number };
  liveInput?: string;
  size?: number;
}

export interface VideoChange {
  creator?: string | null;
  meta?: VideoMeta;
  allowedOrigins?: string[];
  requireSignedURLs?: boolean;
  scheduledDeletion?: number | null;
  thumbnailTimestampPct?: number;
  maxDurationSeconds?: number | null;
  uploadExpiry?: number | null;
  publicDetails?: Partial<PublicDetails>;
}

/** A bound on the creation time. */
export interface CreatedBound {
  op: "eq" | "gt" | "gte" | "lt" | "lte";
  /** Epoch milliseconds. */
  at: number;
}

/** All given conditions must match. */
export interface VideoFilter {
  states?: readonly VideoState[];
  creator?: string;
  type?: "vod" | "live";
  /** Substring of `meta.name`, case-insensitive. */
  search?: string;
  /** The complete `meta.name`. */
  name?: string;
  /** Names or uids, a few dozen at most, because each is looked up. */
  names?: readonly string[];
  ids?: readonly string[];
  liveInput?: string;
  created?: readonly CreatedBound[];
  /** Default: newest first. */
  asc?: boolean;
  /** 1 to 1000; default 1000. */
  limit?: number;
  offset?: number;
}

export interface StorageUsage {
  /** Used by videos of known duration. */
  usedSeconds: number;
  /** Reserved for pending uploads. */
  reservedSeconds: number;
  videos: number;
}

/** The rows of videos and their state changes. Every change is published as event `stream.video` with the uid. */
export interface Videos {
  /**
   * Creates a video in `pendingupload` (or `downloading`, `queued`) and reserves its minutes. Validates all its
   * properties. `uid`: 32 hex digits; default: random ones. Throws quotaExceeded, tooManyQueued, tooManyPending,
   * badParameter, idTaken.
   */
  create(
    account: string,
    draft: VideoDraft,
    state?: "pendingupload" | "downloading" | "queued",
    uid?: string,
  ): Promise<Video>;
  /** Throws videoNotFound. */
  get(account: string, uid: string): Promise<Video>;
  /** Finds a video in any account: for delivery and processing. */
  find(uid: string): Promise<Video | undefined>;
  /** Throws videoNotFound, badParameter, quotaExceeded. */
  edit(account: string, uid: string, change: VideoChange): Promise<Video>;
  /** Deletes the row immediately and all stored data soon after, even if the process dies in the meantime. */
  delete(account: string, uid: string): Promise<void>;

  /**
   * Records that the whole source is stored under `source.key`: the video becomes `queued`, and its processing is
   * enqueued. Throws alreadyUploaded, videoNotFound.
   */
  uploaded(uid: string, source: { key: string; size: number }): Promise<Video>;
  /**
   * Resets a video whose file failed before anything was encoded (`mayReopen`) to `pendingupload` and reserves its
   * minutes again. Idempotent. Undefined if the video is in another state. Throws quotaExceeded.
   */
  reopened(uid: string): Promise<Video | undefined>;
  /**
   * Called when probing has finished: `inprogress`, with duration, input and model. An existing model is kept, because
   * segments may have been encoded with it. Undefined if there is nothing to encode: the video was deleted, has failed,
   * or exceeds its maximum duration, which causes it to fail.
   */
  modelled(uid: string, model: MediaModel): Promise<Video | undefined>;
  /** Called when playback can start. */
  playable(uid: string): Promise<void>;
  /** Only increases the value; written at most a few times per second. */
  progress(uid: string, pctComplete: number): Promise<void>;
  /** Called when every segment of every rendition is stored: `ready`, 100. */
  finished(uid: string): Promise<void>;
  failed(uid: string, code: ErrorReason, text?: string): Promise<void>;
}

/** State changes of a broadcast as a video. */
export interface LiveVideos {
  find(uid: string): Promise<Video | undefined>;
  /**
   * Creates a video in `live-inprogress`, under a uid chosen beforehand. Idempotent. Throws quotaExceeded,
   * badParameter.
   */
  begin(account: string, uid: string, draft: VideoDraft & { liveInput: string }): Promise<Video>;
  /** Applies an input's access rules to its live videos. */
  setAccessRules(
    account: string,
    liveInput: string,
    rules: Partial<Pick<Video, "requireSignedURLs" | "allowedOrigins">>,
  ): Promise<void>;
  /** True if the account may store this many more seconds. */
  hasQuotaFor(account: string, seconds: number): Promise<boolean>;
  /** Called when playback can start. */
  playable(uid: string): Promise<void>;
  /**
   * Records the end of a broadcast: its video becomes `ready`, and is announced as such. Undefined if the video was
   * deleted, or had already ended.
   */
  recorded(uid: string, recording: RecordedVideo): Promise<Video | undefined>;
  /**
   * Records that a recording is stored in one file: from now on it is an ordinary video. Undefined if no video is
   * waiting for the file.
   */
  assembled(uid: string, source: { key: string; size: number; model: MediaModel }): Promise<Video | undefined>;
  /** Deletes the video of an empty broadcast. */
  discard(uid: string): Promise<void>;
}

export interface RecordedVideo {
  /** Seconds. */
  duration: number;
  /** Maximum size in bytes. */
  size: number;
  input: { width: number; height: number };
  scheduledDeletion: number | null;
}

/** Queries over many videos. */
export interface VideoCatalog {
  list(account: string, filter?: VideoFilter): Promise<ListedVideo[]>;
  /** `total` matches the filter except `created`; `range` matches the whole filter, regardless of the limit. */
  count(account: string, filter?: VideoFilter): Promise<{ total: number; range: number }>;
  storageUsage(account: string, creator?: string): Promise<StorageUsage>;
}
