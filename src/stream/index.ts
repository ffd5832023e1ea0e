export { createStream, type Stream } from "./stream.ts";
export { type Audio, createAudio } from "./audio/audio.ts";
export { createCaptions } from "./captions/captions.ts";
export type { Captions } from "./captions/port.ts";
export { type Clips, createClips } from "./clips/clips.ts";
export { customerCode } from "./customers/customer-code.ts";
export { createDownloads, type Downloads } from "./downloads/downloads.ts";
export { type Download, downloadName, type DownloadType } from "./downloads/types.ts";
export { streamErrors } from "./errors.ts";
export { jwkForm, pemForm } from "./keys/forms.ts";
export { createSigningKeys } from "./keys/keys.ts";
export type { SigningKeys } from "./keys/port.ts";
export {
  createLiveInputs,
  listLiveInput,
  type LiveHealth,
  type LiveInputChange,
  type LiveInputs,
  type LiveNow,
  type LiveUrls,
  type OwnedLiveInput,
  type OwnedLiveOutputs,
  showLiveHistory,
  showLiveInput,
  showLiveOutput,
} from "./live/index.ts";
export type { MediaCapabilities } from "./media/port.ts";
export { createMediaTools } from "./media/tools.ts";
export { streamMigrations } from "./migrations.ts";
export type { MediaModel } from "./model.ts";
export { createTokens, type Tokens } from "./tokens/tokens.ts";
export { carriesUpload } from "./uploads/http.ts";
export type { AskedVideo, Uploads } from "./uploads/port.ts";
export { createUploads } from "./uploads/uploads.ts";
export type { CreatedBound, VideoCatalog, VideoFilter, Videos } from "./videos/port.ts";
export { showVideo, showWatermark } from "./videos/show.ts";
export { createStreamUrls, type StreamUrls } from "./videos/urls.ts";
export type { ListedVideo, Video, WatermarkProfile } from "./videos/video.ts";
export { createVideos } from "./videos/videos.ts";
export { PERIODS } from "./viewed/periods.ts";
export { createViewedMinutes, type ViewedMinutes } from "./viewed/viewed.ts";
export { MAX_WATERMARK_BYTES, type Watermarks, type WatermarkRequest } from "./watermarks/port.ts";
export { createWatermarks } from "./watermarks/watermarks.ts";
export type { WebhookDelivery, WebhookEndpoint, Webhooks } from "./webhooks/types.ts";
export { createWebhooks } from "./webhooks/webhooks.ts";
