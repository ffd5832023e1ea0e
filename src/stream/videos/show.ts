import type { StreamUrls } from "./urls.ts";
import type { ListedVideo, PublicDetails, VideoMeta, VideoState, WatermarkProfile } from "./video.ts";

/** A video as shown by the API, webhooks and the Workers binding. */
interface ShownVideo {
  uid: string;
  creator: string | null;
  thumbnail: string;
  thumbnailTimestampPct: number;
  readyToStream: boolean;
  readyToStreamAt: string | null;
  status: {
    state: VideoState;
    step?: "encoding" | "manifest";
    pctComplete: string;
    errorReasonCode: string;
    errorReasonText: string;
  };
  meta: VideoMeta;
  created: string;
  modified: string;
  scheduledDeletion: string | null;
  size: number;
  preview: string;
  allowedOrigins: string[];
  requireSignedURLs: boolean;
  uploaded: string | null;
  uploadExpiry: string | null;
  maxSizeBytes: number | null;
  maxDurationSeconds: number | null;
  duration: number;
  input: { width: number; height: number };
  playback: { hls: string; dash: string };
  watermark: ShownWatermark | null;
  liveInput?: string;
  clippedFrom?: string;
  publicDetails: PublicDetails;
}

type ShownWatermark = Omit<WatermarkProfile, "created"> & { created: string };

/** RFC 3339, UTC. */
const toIso = (time: number): string => new Date(time).toISOString();
const toIsoOrNull = (time: number | null): string | null => (time === null ? null : toIso(time));

export function showVideo(video: ListedVideo, urls: Pick<StreamUrls, "of">): ShownVideo {
  const { thumbnail, watch, hls, dash } = urls.of(video);
  const { state, step, errorReason, liveInput, clippedFrom } = video;
  return {
    uid: video.uid,
    creator: video.creator,
    thumbnail,
    thumbnailTimestampPct: video.thumbnailTimestampPct,
    readyToStream: video.readyToStream,
    readyToStreamAt: toIsoOrNull(video.readyToStreamAt),
    status: {
      state,
      ...(step !== undefined && { step }),
      // Rounded down: incomplete progress must not be shown as complete.
      pctComplete: (Math.floor(video.pctComplete * 1e6) / 1e6).toFixed(6),
      errorReasonCode: errorReason?.code ?? "",
      errorReasonText: errorReason?.text ?? "",
    },
    meta: video.meta,
    created: toIso(video.created),
    modified: toIso(video.modified),
    scheduledDeletion: toIsoOrNull(video.scheduledDeletion),
    size: video.size,
    preview: watch,
    allowedOrigins: video.allowedOrigins,
    requireSignedURLs: video.requireSignedURLs,
    uploaded: toIsoOrNull(video.uploaded),
    uploadExpiry: toIsoOrNull(video.uploadExpiry),
    // Clients expect 0 for "no limit" on videos that are being fetched, and null on all others.
    maxSizeBytes: video.maxSizeBytes ?? (state === "downloading" ? 0 : null),
    maxDurationSeconds: video.maxDurationSeconds,
    duration: video.duration,
    input: video.input,
    playback: { hls, dash },
    watermark: video.watermark === null ? null : showWatermark(video.watermark),
    ...(liveInput !== undefined && { liveInput }),
    ...(clippedFrom !== undefined && { clippedFrom }),
    publicDetails: video.publicDetails,
  };
}

export const showWatermark = (profile: WatermarkProfile): ShownWatermark => ({
  ...profile,
  created: toIso(profile.created),
});
