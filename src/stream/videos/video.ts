import type { MediaModel } from "../model.ts";

export type VideoState =
  | "pendingupload"
  | "downloading"
  | "queued"
  | "inprogress"
  | "ready"
  | "error"
  | "live-inprogress";

/** Reason for a processing failure, as one of the codes that clients match on. */
export type ErrorReason =
  | "ERR_NON_VIDEO"
  | "ERR_DURATION_EXCEED_CONSTRAINT"
  | "ERR_FETCH_ORIGIN_ERROR"
  | "ERR_MALFORMED_VIDEO"
  | "ERR_DURATION_TOO_SHORT"
  | "ERR_UNKNOWN";

/** The owner's key-value pairs. Values keep the JSON types in which they were sent. */
export type VideoMeta = Record<string, unknown>;

/** Returns a value of `meta` as a string, for names and titles, or undefined if it is absent or null. */
export function metaString(meta: VideoMeta, key: string): string | undefined {
  const value = Object.hasOwn(meta, key) ? meta[key] : undefined;
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A video. Times are in epoch milliseconds; unknown numbers are -1, as in the API. */
export interface Video {
  /** 32 hex digits. */
  uid: string;
  account: string;
  creator: string | null;
  state: VideoState;
  /** Current step while `inprogress`, or the step that failed. */
  step?: "encoding" | "manifest";
  /** 0 to 100, for the encoding of the whole ladder. */
  pctComplete: number;
  errorReason?: { code: ErrorReason; text: string };
  meta: VideoMeta;
  created: number;
  modified: number;
  /** Time at which the last byte arrived. */
  uploaded: number | null;
  readyToStream: boolean;
  readyToStreamAt: number | null;
  scheduledDeletion: number | null;
  /** Maximum size in bytes. */
  size: number;
  allowedOrigins: string[];
  requireSignedURLs: boolean;
  uploadExpiry: number | null;
  maxSizeBytes: number | null;
  maxDurationSeconds: number | null;
  /** Seconds; -1 if unknown. */
  duration: number;
  input: { width: number; height: number };
  thumbnailTimestampPct: number;
  /** Profile of the burned-in watermark, as it was when it was chosen. */
  watermark: WatermarkProfile | null;
  clippedFrom?: string;
  /**
   * The section of the stored source that forms the video, in seconds of that file; the model's `source.start` and
   * `duration` are derived from it.
   */
  clip?: { start: number; end: number };
  liveInput?: string;
  publicDetails: PublicDetails;
  /** Key of the uploaded object, once complete. */
  sourceKey: string | null;
  /** Set once probing is done. */
  model: MediaModel | null;
}

/** As returned by lists: without the one large field, which only playback and encoding need. */
export type ListedVideo = Omit<Video, "model">;

export interface PublicDetails {
  title: string | null;
  share_link: string | null;
  channel_link: string | null;
  logo: string | null;
}

/** As returned by the API; the burned-in watermark is rendered from it. */
export interface WatermarkProfile {
  uid: string;
  name: string;
  size: number;
  width: number;
  height: number;
  opacity: number;
  padding: number;
  scale: number;
  position: "upperRight" | "upperLeft" | "lowerLeft" | "lowerRight" | "center";
  downloadedFrom: string | null;
  created: number;
}
