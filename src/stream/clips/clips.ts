import { isStoreError, type ObjectStore } from "../../store/index.ts";
import type { Clock, Log } from "../../kernel/index.ts";
import { streamErrors } from "../errors.ts";
import type { MediaModel } from "../model.ts";
import { type RequestedVideo, videoDraft, type UploadsDeps } from "../uploads/index.ts";
import { notReadyError, type Video, type Videos } from "../videos/index.ts";

interface ClipsDeps {
  videos: Pick<Videos, "get" | "create" | "delete" | "uploaded">;
  objects: Pick<ObjectStore, "copy" | "open">;
  clock: Clock;
  log: Log;
  findWatermark?: UploadsDeps["findWatermark"];
}

/**
 * Creates clips. A clip is a part of a video as a separate video: it uses the same bytes, but is encoded from the start
 * of the clip.
 */
export interface Clips {
  /**
   * `requested` gives the range in seconds of the source video. Access rules and watermark are inherited from it unless
   * given. Throws videoNotFound, notReady, videoFailed, badParameter, and the errors of `Videos.create`.
   */
  create(account: string, requested: RequestedClip): Promise<Video>;
}

type RequestedClip = Omit<RequestedVideo, "maxDurationSeconds" | "uploadExpiry"> & {
  from: string;
  start: number;
  end: number;
};

export function createClips({ videos, objects, clock, log, findWatermark }: ClipsDeps): Clips {
  return {
    async create(account, { from, start, end, ...requested }) {
      const source = await videos.get(account, from);
      const { model, sourceKey } = source;
      if (model === null || sourceKey === null) throw notReadyError(source);
      const clippedRange = clipRange(model, start, end);
      const inheritedRules = { allowedOrigins: source.allowedOrigins, requireSignedURLs: source.requireSignedURLs };
      const draft = await videoDraft({ clock, ...(findWatermark && { findWatermark }) }, account, {
        ...inheritedRules,
        ...requested,
      });
      const inheritsWatermark = draft.watermark == null && source.watermark !== null;
      const clip = await videos.create(
        account,
        { ...draft, ...(inheritsWatermark && { watermark: source.watermark }), clippedFrom: from, clip: clippedRange },
        "queued",
      );
      try {
        if (inheritsWatermark) await copyWatermark(from, clip.uid);
        // An indexed copy already has a form that can be clipped.
        const key = `stream/${clip.uid}/source`;
        await objects.copy(model.source.key, key);
        return await videos.uploaded(clip.uid, { key, size: model.source.size });
      } catch (err) {
        await videos
          .delete(account, clip.uid)
          .catch((err: unknown) =>
            log.warn({ err, video: clip.uid }, "stream: failed to delete the files of an incomplete clip"),
          );
        // The source was deleted in the meantime.
        throw isStoreError(err, "absent") ? streamErrors.videoNotFound({ uid: from }) : err;
      }
    },
  };

  async function copyWatermark(from: string, to: string): Promise<void> {
    const key = (uid: string) => `stream/${uid}/watermark.png`;
    if ((await objects.open(key(from))) !== undefined) await objects.copy(key(from), key(to));
  }
}

/** Returns the times in the stored file: the source video may be a clip itself, or start later than its file. */
function clipRange({ source, duration }: MediaModel, start: number, end: number): { start: number; end: number } {
  if (!Number.isInteger(start) || start < 0)
    throw streamErrors.badParameter({
      reason: `startTimeSeconds must be a whole number of at least 0, not ${start}`,
    });
  if (!Number.isInteger(end) || end <= start)
    throw streamErrors.badParameter({
      reason: `endTimeSeconds must be a whole number greater than startTimeSeconds (${start}), not ${end}`,
    });
  if (start >= duration)
    throw streamErrors.badParameter({
      reason: `startTimeSeconds (${start}) is after the end of the video, which is ${duration.toFixed(2)} seconds long`,
    });
  // Users see a video of 9.97 seconds as a video of 10 seconds.
  if (end > Math.ceil(duration))
    throw streamErrors.badParameter({
      reason: `endTimeSeconds (${end}) is after the end of the video, which is ${duration.toFixed(2)} seconds long`,
    });
  return { start: source.start + start, end: source.start + Math.min(end, duration) };
}
