import type { VideoDraft } from "./port.ts";
import type { Video } from "./video.ts";

export function newVideo(
  { uid, account, now, state }: { uid: string; account: string; now: number; state: Video["state"] },
  draft: VideoDraft,
): Video {
  const { clippedFrom, clip, liveInput } = draft;
  return {
    uid,
    account,
    state,
    creator: draft.creator ?? null,
    pctComplete: 0,
    meta: draft.meta ?? {},
    created: now,
    modified: now,
    uploaded: null,
    readyToStream: false,
    readyToStreamAt: null,
    scheduledDeletion: draft.scheduledDeletion ?? null,
    size: draft.size ?? 0,
    allowedOrigins: draft.allowedOrigins ?? [],
    requireSignedURLs: draft.requireSignedURLs ?? false,
    uploadExpiry: draft.uploadExpiry ?? null,
    maxSizeBytes: draft.maxSizeBytes ?? null,
    maxDurationSeconds: draft.maxDurationSeconds ?? null,
    duration: -1,
    input: { width: -1, height: -1 },
    thumbnailTimestampPct: draft.thumbnailTimestampPct ?? 0,
    watermark: draft.watermark ?? null,
    publicDetails: { title: null, share_link: null, channel_link: null, logo: null },
    sourceKey: null,
    model: null,
    ...(clippedFrom !== undefined && { clippedFrom }),
    ...(clip !== undefined && { clip }),
    ...(liveInput !== undefined && { liveInput }),
  };
}
