export type { Stream } from "./port.ts";
export { createStream } from "./stream.ts";
export { type Audience, type AudienceColumn, createAudience } from "./audience/index.ts";
export { type Audio, createAudio } from "./audio/index.ts";
export { type Captions, createCaptions } from "./captions/index.ts";
export { type Chapters, createChapters } from "./chapters/index.ts";
export { type Clips, createClips } from "./clips/index.ts";
export { customerCode } from "./customers/index.ts";
export {
  createDownloads,
  type Download,
  DOWNLOAD_FILE_NAMES,
  type Downloads,
  type DownloadType,
} from "./downloads/index.ts";
export { streamErrors } from "./errors.ts";
export { createSigningKeys, encodeJwk, encodePem, type SigningKeys } from "./keys/index.ts";
export {
  countBroadcastLeases,
  createLiveInputs,
  listLiveInput,
  type LiveHealth,
  type LiveInputChange,
  type LiveInputs,
  type PublicLiveStatus,
  type LiveSample,
  type LiveUrls,
  type OwnedLiveInput,
  type OwnedLiveOutputs,
  showLiveHistory,
  showLiveInput,
  showLiveOutput,
} from "./live/index.ts";
export { createMediaTools, type MediaCapabilities } from "./media/index.ts";
export { streamMigrations } from "./migrations.ts";
export type { MediaModel } from "./model.ts";
export { createPlaybackTokens, type PlaybackTokens } from "./tokens/index.ts";
export { type RequestedVideo, hasUploadBody, createUploads, type Uploads } from "./uploads/index.ts";
export {
  type CreatedBound,
  createStreamUrls,
  createVideos,
  type ListedVideo,
  showVideo,
  showWatermark,
  type StreamUrls,
  type Video,
  type VideoCatalog,
  type VideoFilter,
  type Videos,
  type WatermarkProfile,
} from "./videos/index.ts";
export { createViewedMinutes, PERIODS, type ViewedMinutes } from "./viewed/index.ts";
export { createWatermarks, MAX_WATERMARK_BYTES, type WatermarkRequest, type Watermarks } from "./watermarks/index.ts";
export { createWebhooks, type WebhookDelivery, type WebhookEndpoint, type Webhooks } from "./webhooks/index.ts";
