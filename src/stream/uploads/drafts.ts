import { streamErrors } from "../errors.ts";
import type { VideoDraft } from "../videos/index.ts";
import type { UploadsParts } from "./parts.ts";
import type { AskedVideo } from "./port.ts";

const MINUTE = 60_000;
/** For who uploads without a token, unless something else was asked for. */
export const SOON_MS = 30 * MINUTE;
/** A request that brings its file with it: nobody goes on with what broke off. */
export const ONE_DAY_MS = 24 * 60 * MINUTE;
/** An upload of the account itself may take its time; what nobody goes on with is not to be kept for ever. */
export const SOME_DAYS_MS = 7 * 24 * 60 * MINUTE;

/** What was asked for, as a video is made of it. Throws badParameter, and what `findWatermark` throws. */
export async function draftOf(
  { clock, findWatermark }: Pick<UploadsParts, "clock" | "findWatermark">,
  account: string,
  { watermark, ...asked }: AskedVideo,
  expiresIn?: number,
): Promise<VideoDraft> {
  const now = clock.now();
  if (asked.uploadExpiry != null && !(asked.uploadExpiry > now))
    throw streamErrors.badParameter({ reason: `expiry is a time to come, and not ${timeText(asked.uploadExpiry)}` });
  const profile = watermark === undefined ? undefined : await findWatermark?.(account, watermark);
  if (watermark !== undefined && profile === undefined)
    throw streamErrors.badParameter({
      reason: `there is no watermark profile ${JSON.stringify(watermark.slice(0, 64))}`,
    });
  return {
    ...asked,
    ...(profile && { watermark: profile }),
    ...(asked.uploadExpiry == null && expiresIn !== undefined && { uploadExpiry: now + expiresIn }),
  };
}

const timeText = (time: number) =>
  Number.isFinite(time) && Math.abs(time) < 8.64e15 ? new Date(time).toISOString() : String(time);
