import { streamErrors } from "../errors.ts";
import type { VideoDraft } from "../videos/index.ts";
import type { UploadsDeps } from "./deps.ts";
import type { RequestedVideo } from "./port.ts";

const MINUTE_MS = 60_000;
/** Default expiry of uploads without a token. */
export const DIRECT_UPLOAD_EXPIRY_MS = 30 * MINUTE_MS;
/** Expiry for a request that contains its file, because it cannot be resumed. */
export const SINGLE_REQUEST_EXPIRY_MS = 24 * 60 * MINUTE_MS;
/** An upload by the account itself may take a long time, but an abandoned upload must not be stored forever. */
export const ACCOUNT_UPLOAD_EXPIRY_MS = 7 * 24 * 60 * MINUTE_MS;

/**
 * Converts the parameters of a creation to those of a video. Throws badParameter, and the errors of `findWatermark`.
 */
export async function videoDraft(
  { clock, findWatermark }: Pick<UploadsDeps, "clock" | "findWatermark">,
  account: string,
  { watermark, ...requested }: RequestedVideo,
  expiresIn?: number,
): Promise<VideoDraft> {
  const now = clock.now();
  if (requested.uploadExpiry != null && !(requested.uploadExpiry > now))
    throw streamErrors.badParameter({
      reason: `expiry must be in the future, not ${timeText(requested.uploadExpiry)}`,
    });
  const profile = watermark === undefined ? undefined : await findWatermark?.(account, watermark);
  if (watermark !== undefined && profile === undefined)
    throw streamErrors.badParameter({
      reason: `watermark profile ${JSON.stringify(watermark.slice(0, 64))} does not exist`,
    });
  return {
    ...requested,
    ...(profile && { watermark: profile }),
    ...(requested.uploadExpiry == null && expiresIn !== undefined && { uploadExpiry: now + expiresIn }),
  };
}

const timeText = (time: number) =>
  Number.isFinite(time) && Math.abs(time) < 8.64e15 ? new Date(time).toISOString() : String(time);
