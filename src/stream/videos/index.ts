export { VIDEO_CHANGED } from "./known.ts";
export { newVideo } from "./new-video.ts";
export { notPlayableError, notReadyError } from "./not-ready.ts";
export type { CreatedBound, LiveVideos, VideoCatalog, VideoDraft, VideoFilter, Videos } from "./port.ts";
export { validateChange, MAX_DELETION_DAYS } from "./rules.ts";
export { showVideo, showWatermark } from "./show.ts";
export { exceedsLimit, mayReopen, FINAL_STATES } from "./states.ts";
export { createStreamUrls, type StreamUrls } from "./urls.ts";
export {
  metaString as metaText,
  type ErrorReason,
  type ListedVideo,
  type Video,
  type VideoMeta,
  type WatermarkProfile,
} from "./video.ts";
export { videosMigrations } from "./videos-table.ts";
export { createVideos, PROCESS_JOB, type VideosModule } from "./videos.ts";
