import { UserError } from "../../kernel/index.ts";
import { MediaRunError } from "../media/index.ts";
import { ProbeRejected } from "../probe/index.ts";
import type { ErrorReason } from "../videos/index.ts";

/** Consequence of a failed attempt for the video. */
type FailureAction = { kind: "again" } | { kind: "failed"; code: ErrorReason; text?: string };

/**
 * Maximum number of failures of one job in one process. Crashes do not count, and a missing encoder or a full disk is
 * not attributed to the video.
 */
const MAX_SOURCE_FAILURES = 3;
/** Maximum number of kills for memory or time, which may have been caused by other load. */
const MAX_KILLS = 12;

/** `failures` includes the current failure. */
export function classifyFailure(err: unknown, failures: number): FailureAction {
  if (err instanceof ProbeRejected) return { kind: "failed", code: err.code, text: err.message };
  const cause = err instanceof UserError && err.kind === "encodingFailed" ? err.cause : err;
  if (isSourceError(cause))
    return failures < MAX_SOURCE_FAILURES ? { kind: "again" } : { kind: "failed", code: "ERR_MALFORMED_VIDEO" };
  if (cause instanceof MediaRunError && ["killed", "memory", "timeout", "output"].includes(cause.reason))
    return failures < MAX_KILLS ? { kind: "again" } : { kind: "failed", code: "ERR_UNKNOWN" };
  return { kind: "again" };
}

/**
 * Messages of ffmpeg or bubblewrap that indicate a problem in the machine. Hardware encoders fail, for example, when all
 * sessions of the device are in use.
 */
const MACHINE_ERRORS =
  /No space left|Input\/output error|Cannot allocate|^bwrap: |^\[h264_(?:nvenc|qsv|vaapi|videotoolbox) @|Device creation failed/im;

function isSourceError(err: unknown): boolean {
  if (err instanceof MediaRunError) return err.reason === "failed" && !MACHINE_ERRORS.test(err.stderr);
  return err instanceof Error && (err.name === "SourceMissing" || err.name === "Mp4Error");
}
