/**
 * What ended a run before its time. `failed`: the program's own words are in `stderr`; `killed`: by nobody we know, which is how the bound of processor
 * time and the system's memory killer look; `missing`: it could not be started.
 */
export type MediaRunReason =
  | "failed"
  | "killed"
  | "timeout"
  | "output"
  | "input"
  | "memory"
  | "aborted"
  | "closed"
  | "missing";

/** Neither the caller's mistake nor a broken invariant as such: whoever asked for the run knows what its end means. */
export class MediaRunError extends Error {
  override readonly name = "MediaRunError";
  readonly reason: MediaRunReason;
  /** The last of standard error, at most 16 KiB. */
  readonly stderr: string;

  constructor(reason: MediaRunReason, message: string, stderr = "", options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
    this.stderr = stderr;
  }
}
