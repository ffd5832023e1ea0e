/**
 * Why a run ended early. `failed`: the program's error text is in `stderr`; `killed`: by a signal of unknown origin,
 * such as the CPU time limit or the kernel's OOM killer; `missing`: it could not be started.
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

/** Not in itself a user error or a bug: the caller of the run decides how to treat it. */
export class MediaRunError extends Error {
  override readonly name = "MediaRunError";
  readonly reason: MediaRunReason;
  /** The end of standard error, at most 16 KiB. */
  readonly stderr: string;

  constructor(reason: MediaRunReason, message: string, stderr = "", options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
    this.stderr = stderr;
  }
}
