import { UserError } from "../../kernel/index.ts";
import { MediaRunError } from "../media/index.ts";
import { ProbeRefused } from "../probe/index.ts";
import type { ErrorReason } from "../videos/index.ts";

/** Consequence of a failed attempt for the video. */
type Verdict = { kind: "again" } | { kind: "failed"; code: ErrorReason; text?: string };

/**
 * Maximum number of failures of one job in one process. Crashes do not count, and a missing encoder or a full disk is
 * not attributed to the video.
 */
const BLAMED = 3;
/** Maximum number of kills for memory or time, which may have been caused by other load. */
const KILLED = 12;

/** `failures` includes the current failure. */
export function judge(err: unknown, failures: number): Verdict {
  if (err instanceof ProbeRefused) return { kind: "failed", code: err.code, text: err.message };
  const cause = err instanceof UserError && err.kind === "encodingFailed" ? err.cause : err;
  if (isOfSource(cause)) return failures < BLAMED ? { kind: "again" } : { kind: "failed", code: "ERR_MALFORMED_VIDEO" };
  if (cause instanceof MediaRunError && ["killed", "memory", "timeout", "output"].includes(cause.reason))
    return failures < KILLED ? { kind: "again" } : { kind: "failed", code: "ERR_UNKNOWN" };
  return { kind: "again" };
}

/** Messages of ffmpeg or bubblewrap that indicate a problem in the machine. */
const OF_THE_MACHINE = /No space left|Input\/output error|Cannot allocate|^bwrap: /im;

function isOfSource(err: unknown): boolean {
  if (err instanceof MediaRunError) return err.reason === "failed" && !OF_THE_MACHINE.test(err.stderr);
  return err instanceof Error && (err.name === "SourceGone" || err.name === "Mp4Error");
}
