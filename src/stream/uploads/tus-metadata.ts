import { streamErrors } from "../errors.ts";
import type { RequestedVideo } from "./port.ts";

const badMetadata = (reason: string) => streamErrors.badParameter({ reason });
const MAX_KEYS = 100;

/**
 * `Upload-Metadata` (TUS 1.0.0, Creation): comma-separated pairs of a key and a base64 value; a flag has no value.
 * Clients put spaces after the commas, and write known keys in any case. Unknown keys are stored in `meta` under their
 * own names. Throws badParameter.
 */
export function readTusMetadata(header: string): RequestedVideo {
  const metaEntries: [string, string][] = [];
  const requested: RequestedVideo = {};
  const pairs = header
    .split(",")
    .map((pair) => pair.trim())
    .filter((pair) => pair !== "");
  if (pairs.length > MAX_KEYS)
    throw badMetadata(`Upload-Metadata can have at most ${MAX_KEYS} keys, not ${pairs.length}`);
  const seenKeys = new Set<string>();
  for (const pair of pairs) {
    const [key = "", encoded = "", ...rest] = pair.split(/\s+/);
    if (rest.length > 0)
      throw badMetadata(`Upload-Metadata must have a key and one base64 value between its commas, not ${quoted(pair)}`);
    if (seenKeys.has(key.toLowerCase())) throw badMetadata(`Upload-Metadata has a duplicate key ${quoted(key)}`);
    seenKeys.add(key.toLowerCase());
    const value = decodeValue(key, encoded);
    const set = KNOWN_KEYS.get(key.toLowerCase());
    if (set === undefined) metaEntries.push([key, value]);
    else set(requested, value, key);
  }
  return { ...requested, ...(metaEntries.length > 0 && { meta: Object.fromEntries(metaEntries) }) };

  function decodeValue(key: string, encoded: string): string {
    if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(encoded))
      throw badMetadata(`the value of ${quoted(key)} in Upload-Metadata is not base64: ${quoted(encoded)}`);
    return Buffer.from(encoded, "base64").toString("utf8").replaceAll("\0", "");
  }
}

const quoted = (text: string) => JSON.stringify(text.slice(0, 100));

const KNOWN_KEYS = new Map<string, (requested: RequestedVideo, value: string, key: string) => void>(
  Object.entries({
    // A flag: its presence sets it.
    requiresignedurls: (requested: RequestedVideo) => void (requested.requireSignedURLs = true),
    allowedorigins: (requested: RequestedVideo, value: string) =>
      void (requested.allowedOrigins = value
        .split(",")
        .map((origin) => origin.trim())
        .filter((origin) => origin !== "")),
    thumbnailtimestamppct: (requested: RequestedVideo, value: string, key: string) =>
      void (requested.thumbnailTimestampPct = numberOf(key, value)),
    watermark: (requested: RequestedVideo, value: string) => void (value !== "" && (requested.watermark = value)),
    scheduleddeletion: (requested: RequestedVideo, value: string, key: string) =>
      void (requested.scheduledDeletion = timeOf(key, value)),
    maxdurationseconds: (requested: RequestedVideo, value: string, key: string) =>
      void (requested.maxDurationSeconds = numberOf(key, value)),
    expiry: (requested: RequestedVideo, value: string, key: string) =>
      void (requested.uploadExpiry = timeOf(key, value)),
  }),
);

function numberOf(key: string, text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number))
    throw badMetadata(`${key} in Upload-Metadata must be a number, not ${quoted(text)}`);
  return number;
}

function timeOf(key: string, text: string): number {
  const time = /^\d{4}-\d\d-\d\dT/i.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time))
    throw badMetadata(`${key} in Upload-Metadata must be a time such as 2026-12-31T23:59:59Z, not ${quoted(text)}`);
  return time;
}
