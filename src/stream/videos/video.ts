import type { MediaModel } from "../model.ts";

export type VideoState =
  | "pendingupload"
  | "downloading"
  | "queued"
  | "inprogress"
  | "ready"
  | "error"
  | "live-inprogress";

/** Why processing gave up, in the words clients match on. */
export type ErrorReason =
  | "ERR_NON_VIDEO"
  | "ERR_DURATION_EXCEED_CONSTRAINT"
  | "ERR_FETCH_ORIGIN_ERROR"
  | "ERR_MALFORMED_VIDEO"
  | "ERR_DURATION_TOO_SHORT"
  | "ERR_UNKNOWN";

/** One video as the domain knows it. Times are epoch milliseconds; unknown numbers are -1 as the contract has it. */
export interface Video {
  /** 32 hex digits. */
  uid: string;
  account: string;
  creator: string | null;
  state: VideoState;
  /** What is being done while `inprogress`, or was when it failed. */
  step?: "encoding" | "manifest";
  /** 0 to 100, of all work of the whole ladder. */
  pctComplete: number;
  errorReason?: { code: ErrorReason; text: string };
  meta: Record<string, string>;
  created: number;
  modified: number;
  /** When the last octet had arrived. */
  uploaded: number | null;
  readyToStream: boolean;
  readyToStreamAt: number | null;
  scheduledDeletion: number | null;
  /** Octets. */
  size: number;
  allowedOrigins: string[];
  requireSignedURLs: boolean;
  uploadExpiry: number | null;
  maxSizeBytes: number | null;
  maxDurationSeconds: number | null;
  /** Seconds; -1 unknown. */
  duration: number;
  input: { width: number; height: number };
  thumbnailTimestampPct: number;
  /** Profile that is burned in, as it was when it was chosen. */
  watermark: WatermarkProfile | null;
  clippedFrom?: string;
  /** Which part of the kept source the video is, in seconds of that file; the model's `source.start` and `duration` follow from it. */
  clip?: { start: number; end: number };
  liveInput?: string;
  publicDetails: PublicDetails;
  /** The uploaded object, once it is whole. */
  sourceKey: string | null;
  /** Present from the end of probing on. */
  model: MediaModel | null;
}

/** As lists have it: without the one large field that nothing but playing and encoding needs. */
export type ListedVideo = Omit<Video, "model">;

export interface PublicDetails {
  title: string | null;
  share_link: string | null;
  channel_link: string | null;
  logo: string | null;
}

/** As the API shows it; what is burned in is made from it. */
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
