export type { Stream } from "./port.ts";
export { createStream } from "./stream.ts";
export { type Audience, type AudienceColumn } from "./audience/index.ts";
export { type Audio } from "./audio/index.ts";
export { type Captions } from "./captions/index.ts";
export { type Chapters } from "./chapters/index.ts";
export { type Clips } from "./clips/index.ts";
export { customerCode } from "./customers/index.ts";
export { type Download, DOWNLOAD_FILE_NAMES, type Downloads, type DownloadType } from "./downloads/index.ts";
export { streamErrors } from "./errors.ts";
export { encodeJwk, encodePem, type SigningKeys } from "./keys/index.ts";
export {
  countBroadcastLeases,
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
export { type MediaCapabilities } from "./media/index.ts";
export { streamMigrations } from "./migrations.ts";
export type { MediaModel } from "./model.ts";
export { type PlaybackTokens } from "./tokens/index.ts";
export { type RequestedVideo, hasUploadBody, type Uploads } from "./uploads/index.ts";
export {
  type CreatedBound,
  type ListedVideo,
  showVideo,
  showWatermark,
  type StreamUrls,
  type Video,
  type VideoCatalog,
  type VideoFilter,
  type Videos,
} from "./videos/index.ts";
export { PERIODS, type ViewedMinutes } from "./viewed/index.ts";
export { MAX_WATERMARK_BYTES, type WatermarkRequest, type Watermarks } from "./watermarks/index.ts";
export { type WebhookDelivery, type WebhookEndpoint, type Webhooks } from "./webhooks/index.ts";
