import { type Download, DOWNLOAD_FILE_NAMES } from "../downloads/index.ts";
import { type ListedVideo, showVideo, showWatermark, type StreamUrls, type WatermarkProfile } from "../videos/index.ts";

/** Results of the binding, which differ from those of the API: ids, and flat playback URLs. */

export function toBindingVideo(video: ListedVideo, urls: Pick<StreamUrls, "of">) {
  const { uid: id, playback, watermark: _, liveInput, clippedFrom, ...rest } = showVideo(video, urls);
  return {
    id,
    ...rest,
    hlsPlaybackUrl: playback.hls,
    dashPlaybackUrl: playback.dash,
    watermark: video.watermark === null ? null : toBindingWatermark(video.watermark),
    liveInputId: liveInput ?? null,
    clippedFromId: clippedFrom ?? null,
  };
}

export function toBindingWatermark(profile: WatermarkProfile) {
  const { uid: id, ...rest } = showWatermark(profile);
  return { id, ...rest };
}

export const toBindingDownloads = (
  account: string,
  uid: string,
  createdDownloads: readonly Download[],
  urls: Pick<StreamUrls, "at">,
) =>
  Object.fromEntries(
    createdDownloads.map(({ type, status, percentComplete }) => [
      type,
      { status, percentComplete, url: urls.at({ account, uid }, `downloads/${DOWNLOAD_FILE_NAMES[type]}`) },
    ]),
  );
