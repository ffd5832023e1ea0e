import type { MediaModel } from "../model.ts";
import type { ErrorReason, ListedVideo, PublicDetails, Video, VideoState, WatermarkProfile } from "./video.ts";

/** Everything that may be said of a video when it is made, by whatever road it comes. */
export interface VideoDraft {
  creator?: string | null;
  meta?: Record<string, string>;
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
  meta?: Record<string, string>;
  allowedOrigins?: string[];
  requireSignedURLs?: boolean;
  scheduledDeletion?: number | null;
  thumbnailTimestampPct?: number;
  maxDurationSeconds?: number | null;
  uploadExpiry?: number | null;
  publicDetails?: Partial<PublicDetails>;
}

/** A bound of when a video was made. */
export interface CreatedBound {
  op: "eq" | "gt" | "gte" | "lt" | "lte";
  /** Epoch milliseconds. */
  at: number;
}

/** Everything given must match. */
export interface VideoFilter {
  states?: readonly VideoState[];
  creator?: string;
  type?: "vod" | "live";
  /** Part of `meta.name`, whatever the case. */
  search?: string;
  /** `meta.name` as a whole. */
  name?: string;
  /** Names or uids, some dozens at most: each is looked up. */
  names?: readonly string[];
  ids?: readonly string[];
  liveInput?: string;
  created?: readonly CreatedBound[];
  /** Default: the newest first. */
  asc?: boolean;
  /** 1 to 1000; default 1000. */
  limit?: number;
  offset?: number;
}

export interface StorageUsage {
  /** Of videos whose length is known. */
  usedSeconds: number;
  /** What uploads that are still to come may take. */
  reservedSeconds: number;
  videos: number;
}

/** The rows of videos and what may become of them. Every change is published as event `stream.video` with the uid. */
export interface Videos {
  /**
   * A new video in `pendingupload` (or `downloading`, `queued`), its minutes reserved. Checks everything said of it.
   * Throws quotaExceeded, tooManyQueued, tooManyPending, badParameter.
   */
  create(account: string, draft: VideoDraft, state?: "pendingupload" | "downloading" | "queued"): Promise<Video>;
  /** Throws videoNotFound. */
  get(account: string, uid: string): Promise<Video>;
  /** Whosever it is: for delivery and processing. */
  find(uid: string): Promise<Video | undefined>;
  /** Throws videoNotFound, badParameter, quotaExceeded. */
  edit(account: string, uid: string, change: VideoChange): Promise<Video>;
  /** The row at once, everything that is kept of it soon, also when the process dies meanwhile. */
  delete(account: string, uid: string): Promise<void>;

  /** The whole source is kept under `source.key`: `queued`, and its processing enqueued in the same breath. Throws alreadyUploaded, videoNotFound. */
  uploaded(uid: string, source: { key: string; size: number }): Promise<Video>;
  /**
   * Resets a video whose file failed before anything was encoded (`mayReopen`) to `pendingupload` and reserves its minutes again.
   * Idempotent. Undefined if the video is in another state. Throws quotaExceeded.
   */
  reopened(uid: string): Promise<Video | undefined>;
  /**
   * Probing is done: `inprogress`, with duration, input and model. A model that is there already stays: segments may have been made by it.
   * Undefined where there is nothing to encode (any more): the video is deleted, has failed, or is longer than it may be, and has failed by that now.
   */
  modelled(uid: string, model: MediaModel): Promise<Video | undefined>;
  /** A player can start. */
  playable(uid: string): Promise<void>;
  /** Only upwards; written at most a few times a second. */
  progress(uid: string, pctComplete: number): Promise<void>;
  /** Every segment of every rendition is kept: `ready`, 100. */
  finished(uid: string): Promise<void>;
  failed(uid: string, code: ErrorReason, text?: string): Promise<void>;
}

/** What becomes of a broadcast as a video. */
export interface LiveVideos {
  find(uid: string): Promise<Video | undefined>;
  /** A video in `live-inprogress`, under a uid that was noted before. Once more does nothing. Throws quotaExceeded, badParameter. */
  begin(account: string, uid: string, draft: VideoDraft & { liveInput: string }): Promise<Video>;
  /** Applies an input's access rules to its live videos. */
  guard(
    account: string,
    liveInput: string,
    rules: Partial<Pick<Video, "requireSignedURLs" | "allowedOrigins">>,
  ): Promise<void>;
  /** Whether the account may keep so many seconds more. */
  fits(account: string, seconds: number): Promise<boolean>;
  /** A player can start. */
  playable(uid: string): Promise<void>;
  /** The broadcast is over: `ready`, and told as such. Undefined where the video is gone, or was settled before. */
  recorded(uid: string, recording: RecordedVideo): Promise<Video | undefined>;
  /** One file of a recording is kept now: from here on it is as any other video. Undefined where there is none that waits for it. */
  assembled(uid: string, source: { key: string; size: number; model: MediaModel }): Promise<Video | undefined>;
  /** A broadcast that came to nothing leaves no video. */
  discard(uid: string): Promise<void>;
}

export interface RecordedVideo {
  /** Seconds. */
  duration: number;
  /** Octets. */
  size: number;
  input: { width: number; height: number };
  scheduledDeletion: number | null;
}

/** Many videos at once. */
export interface VideoCatalog {
  list(account: string, filter?: VideoFilter): Promise<ListedVideo[]>;
  /** `total` matches the filter but for `created`; `range` matches all of it, whatever the limit. */
  count(account: string, filter?: VideoFilter): Promise<{ total: number; range: number }>;
  storageUsage(account: string, creator?: string): Promise<StorageUsage>;
}
