import { MediaRunError } from "../media/index.ts";
import type { ErrorReason } from "../videos/index.ts";

/** The file is no video that can be played; a second look would say the same. `message` is what its owner is told. */
export class ProbeRefused extends Error {
  override readonly name = "ProbeRefused";
  readonly code: ErrorReason;

  constructor(code: ErrorReason, text: string, options?: ErrorOptions) {
    super(text, options);
    this.code = code;
  }
}

export const nonVideo = (detail?: string, options?: ErrorOptions) =>
  new ProbeRefused("ERR_NON_VIDEO", withDetail("The file was not recognized as a valid video file.", detail), options);
export const malformed = (detail?: string, options?: ErrorOptions) =>
  new ProbeRefused(
    "ERR_MALFORMED_VIDEO",
    withDetail("The video was deemed to be corrupted or malformed.", detail),
    options,
  );

const withDetail = (text: string, detail: string | undefined) => (detail === undefined ? text : `${text} ${detail}`);

/** A full disk, a source that has gone, a sandbox that does not stand: the system's words, or bubblewrap's. */
const SYSTEM = /No space left|Disk quota|No such file|Permission denied|Too many open files|^(bwrap|confine): /m;

/**
 * Whether a run ended by what is in the file: it said that it cannot read it, or wanted too much. One that was killed or took long may have been
 * the machine's bad day.
 */
export const isTheFile = (err: unknown): err is MediaRunError =>
  err instanceof MediaRunError &&
  (["output", "memory"].includes(err.reason) || (err.reason === "failed" && !SYSTEM.test(err.stderr)));
