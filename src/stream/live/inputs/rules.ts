import { streamErrors } from "../../errors.ts";
import { validateChange, MAX_DELETION_DAYS } from "../../videos/index.ts";
import type { LiveInput, LiveRecording } from "./port.ts";
import type { LiveInputChange } from "./types.ts";

/** Settings chosen by the owner of the input; the server sets the rest. */
export type LiveSettings = Pick<
  LiveInput,
  "meta" | "enabled" | "preferLowLatency" | "defaultCreator" | "deleteRecordingAfterDays" | "recording"
>;

export const DEFAULTS: LiveSettings = {
  meta: {},
  enabled: true,
  preferLowLatency: false,
  defaultCreator: null,
  deleteRecordingAfterDays: null,
  recording: {
    mode: "off",
    timeoutSeconds: 0,
    requireSignedURLs: false,
    allowedOrigins: [],
    hideLiveViewerCount: false,
  },
};

/** A broadcast ends at the latest when its publisher has been disconnected for a day. */
const MAX_TIMEOUT_SECONDS = 86_400;

const badRule = (reason: string) => streamErrors.badParameter({ reason });
const quoted = (value: unknown) => JSON.stringify(value)?.slice(0, 100) ?? String(value);

/**
 * Applies the change and returns the settings in stored form. Throws badParameter, whose message states the rule and
 * the value.
 */
export function applyChange(
  before: LiveSettings,
  { recording, ...change }: LiveInputChange,
  { minDeletionDays }: { minDeletionDays: number },
): LiveSettings {
  const { meta, defaultCreator: creator, deleteRecordingAfterDays: days } = change;
  const validSettings = validateChange(
    { ...(meta !== undefined && { meta }), ...(creator !== undefined && { creator }) },
    0,
    {
      minDeletionDays,
      maxDurationSeconds: 0,
    },
  );
  if (days != null && !(Number.isInteger(days) && days >= minDeletionDays && days <= MAX_DELETION_DAYS)) {
    throw badRule(
      `deleteRecordingAfterDays must be a whole number from ${minDeletionDays} to ${MAX_DELETION_DAYS}, or null, not ${quoted(days)}`,
    );
  }
  return {
    ...before,
    ...change,
    ...(validSettings.creator !== undefined && { defaultCreator: validSettings.creator }),
    recording: { ...before.recording, ...recordingOf(recording ?? {}) },
  };
}

function recordingOf(given: Partial<LiveRecording>): Partial<LiveRecording> {
  const { timeoutSeconds: seconds, allowedOrigins } = given;
  if (seconds !== undefined && !(Number.isInteger(seconds) && seconds >= 0 && seconds <= MAX_TIMEOUT_SECONDS))
    throw badRule(
      `recording.timeoutSeconds must be a whole number from 0 to ${MAX_TIMEOUT_SECONDS}, not ${quoted(seconds)}`,
    );
  if (allowedOrigins === undefined) return given;
  const validSettings = validateChange({ allowedOrigins }, 0, { minDeletionDays: 0, maxDurationSeconds: 0 });
  return { ...given, allowedOrigins: validSettings.allowedOrigins! };
}

const MAX_KEY_BYTES = 255;

/** Throws badParameter. */
export function checkIdempotencyKey(key: string): void {
  const bytes = Buffer.byteLength(key, "latin1");
  if (bytes < 1 || bytes > MAX_KEY_BYTES)
    throw badRule(`Idempotency-Key must have 1 to ${MAX_KEY_BYTES} bytes, not ${bytes}`);
}
