import { MediaRunError } from "../media/index.ts";
import type { ErrorReason } from "../videos/index.ts";

/** The file is not a playable video; probing again would give the same result. `message` is shown to its owner. */
export class ProbeRejected extends Error {
  override readonly name = "ProbeRejected";
  readonly code: ErrorReason;

  constructor(code: ErrorReason, text: string, options?: ErrorOptions) {
    super(text, options);
    this.code = code;
  }
}

export const nonVideoError = (detail?: string, options?: ErrorOptions) =>
  new ProbeRejected("ERR_NON_VIDEO", withDetail("The file was not recognized as a valid video file.", detail), options);
export const malformedFileError = (detail?: string, options?: ErrorOptions) =>
  new ProbeRejected(
    "ERR_MALFORMED_VIDEO",
    withDetail("The video was deemed to be corrupted or malformed.", detail),
    options,
  );

const withDetail = (text: string, detail: string | undefined) => (detail === undefined ? text : `${text} ${detail}`);

/**
 * Errors such as a full disk, a missing source, or a sandbox that failed to start: messages of the system or of
 * bubblewrap.
 */
const SYSTEM_ERROR_PATTERN =
  /No space left|Disk quota|No such file|Permission denied|Too many open files|^(bwrap|confine): /m;

/**
 * True if the run failed because of the file: a read error, or excessive resource use. A run that was killed or timed
 * out may have been affected by load on the machine.
 */
export const isFileError = (err: unknown): err is MediaRunError =>
  err instanceof MediaRunError &&
  (["output", "memory"].includes(err.reason) || (err.reason === "failed" && !SYSTEM_ERROR_PATTERN.test(err.stderr)));
