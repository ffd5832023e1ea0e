/** A video as both APIs describe it. */
export interface V4Video {
  uid: string;
  created: string;
  size?: number;
  duration?: number;
  preview: string;
  creator?: string | null;
  meta?: Record<string, unknown> | null;
  status: { state: string; errorReasonText?: string };
  readyToStream?: boolean;
  allowedOrigins?: string[];
  requireSignedURLs?: boolean;
  scheduledDeletion?: string | null;
  thumbnailTimestampPct?: number | null;
  publicDetails?: Record<string, string | null> | null;
  watermark?: { uid?: string } | null;
  liveInput?: string;
}

/** Properties that are set after the upload, in comparable form. */
export const videoSettingsOf = ({
  creator = null,
  meta,
  allowedOrigins = [],
  requireSignedURLs = false,
  thumbnailTimestampPct,
  publicDetails,
  scheduledDeletion = null,
}: V4Video) => ({
  creator,
  meta: meta ?? {},
  allowedOrigins: allowedOrigins.toSorted(),
  requireSignedURLs,
  thumbnailTimestampPct: thumbnailTimestampPct ?? 0,
  publicDetails: Object.fromEntries(
    ["title", "share_link", "channel_link", "logo"].map((field) => [field, publicDetails?.[field] || null]),
  ),
  scheduledDeletion: scheduledDeletion === null ? null : new Date(scheduledDeletion).toISOString(),
});

export type VideoSettings = ReturnType<typeof videoSettingsOf>;
