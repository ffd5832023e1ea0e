import { streamErrors } from "../errors.ts";
import type { VideoChange } from "./port.ts";
import type { PublicDetails, VideoMeta } from "./video.ts";

/** Validation of video properties: every error contains the rule and the value. */

interface VideoRules {
  maxDurationSeconds: number;
  minDeletionDays: number;
}

export const MAX_DELETION_DAYS = 1096;
const MAX_CREATOR_LENGTH = 64;
const MAX_META_BYTES = 16 * 1024;
const MAX_ORIGINS = 100;
const MAX_ORIGIN_LENGTH = 260;
const MAX_DETAIL_LENGTH = 2048;
const DAY_MS = 86_400_000;
/** The last time that RFC 3339 can represent. */
const LAST_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** A host name, or an IPv6 address in brackets, with an optional port; `*.` before a name matches every subdomain. */
const ORIGIN_PATTERN = /^(?:(?:\*\.)?[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*\.?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/iu;

const badField = (reason: string) => streamErrors.badParameter({ reason });
const quoted = (value: unknown) => JSON.stringify(value)?.slice(0, 100) ?? String(value);

/** Validates the input and returns it in the stored form. Throws badParameter. */
export function validateChange<Change extends VideoChange>(change: Change, created: number, rules: VideoRules): Change {
  const validChange = { ...change };
  if (change.creator !== undefined) validChange.creator = creatorOf(change.creator);
  if (change.meta !== undefined) checkMeta(change.meta);
  if (change.allowedOrigins !== undefined) validChange.allowedOrigins = originsOf(change.allowedOrigins);
  if (change.scheduledDeletion != null) checkDeletion(change.scheduledDeletion, created, rules.minDeletionDays);
  if (change.uploadExpiry != null && !(change.uploadExpiry >= 0 && change.uploadExpiry <= LAST_TIME))
    throw badField("uploadExpiry is not a time");
  if (
    change.thumbnailTimestampPct !== undefined &&
    !(change.thumbnailTimestampPct >= 0 && change.thumbnailTimestampPct <= 1)
  )
    throw badField(`thumbnailTimestampPct must be a number from 0 to 1, not ${quoted(change.thumbnailTimestampPct)}`);
  if (change.maxDurationSeconds != null) checkDuration(change.maxDurationSeconds, rules.maxDurationSeconds);
  if (change.publicDetails !== undefined) checkDetails(change.publicDetails);
  return validChange;
}

function creatorOf(creator: string | null): string | null {
  if (creator === null || creator === "") return null;
  if (creator.length > MAX_CREATOR_LENGTH)
    throw badField(`creator can have at most ${MAX_CREATOR_LENGTH} characters, not ${creator.length}`);
  if (creator.includes("\0")) throw badField("creator contains U+0000");
  return creator.toWellFormed();
}

function checkMeta(meta: VideoMeta): void {
  const { length } = Buffer.from(JSON.stringify(meta));
  if (length > MAX_META_BYTES) throw badField(`meta can have at most ${MAX_META_BYTES} bytes of JSON, not ${length}`);
}

/** A scheme or a trailing slash, as in URLs copied from browsers, is removed. */
function originsOf(origins: readonly string[]): string[] {
  if (origins.length > MAX_ORIGINS)
    throw badField(`allowedOrigins can have at most ${MAX_ORIGINS} entries, not ${origins.length}`);
  return origins.map((originText) => {
    const origin = originText
      .trim()
      .replace(/^https?:\/\//i, "")
      .replace(/\/$/, "");
    if (origin.length > MAX_ORIGIN_LENGTH || !ORIGIN_PATTERN.test(origin))
      throw badField(
        `allowedOrigins accepts host names such as example.com, *.example.com and localhost:3000, without a path, not ${quoted(originText)}`,
      );
    return origin.toLowerCase();
  });
}

function checkDeletion(deletionTime: number, created: number, minDays: number): void {
  const days = (deletionTime - created) / DAY_MS;
  // Tolerates client clocks that are slightly off.
  if (days >= minDays - 1 / 1440 && days <= MAX_DELETION_DAYS + 1 / 1440) return;
  const timeText =
    Number.isFinite(deletionTime) && Math.abs(deletionTime) <= LAST_TIME
      ? `${new Date(deletionTime).toISOString()} is ${days.toFixed(2)} days after`
      : "it is not a time";
  throw badField(
    `scheduledDeletion must be ${minDays} to ${MAX_DELETION_DAYS} days after the video was created, but ${timeText}`,
  );
}

function checkDuration(seconds: number, maxSeconds: number): void {
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > maxSeconds)
    throw badField(`maxDurationSeconds must be a whole number from 1 to ${maxSeconds}, not ${quoted(seconds)}`);
}

function checkDetails(details: Partial<PublicDetails>): void {
  for (const [name, value] of Object.entries(details)) {
    if (typeof value === "string" && value.length > MAX_DETAIL_LENGTH)
      throw badField(`publicDetails.${name} can have at most ${MAX_DETAIL_LENGTH} characters, not ${value.length}`);
    // These values become links on public pages.
    if (name !== "title" && typeof value === "string" && value !== "" && !/^https?:\/\//i.test(value))
      throw badField(`publicDetails.${name} must be an http or https URL, not ${quoted(value)}`);
  }
}
