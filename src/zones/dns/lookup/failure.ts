/**
 * Why a lookup failed, in the codes of node:dns. ENOTFOUND: the name does not exist. ENODATA: it has no such records.
 * All other codes are temporary: the servers failed, refused or timed out; EBUSY: too many lookups are pending.
 */
export type LookupCode = "ENOTFOUND" | "ENODATA" | "ESERVFAIL" | "EREFUSED" | "ETIMEOUT" | "EBUSY";

export class LookupError extends Error {
  override readonly name = "LookupError";
  readonly code: LookupCode;

  constructor(code: LookupCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** True if the absence is certain. */
export const isAbsence = (err: unknown): boolean =>
  err instanceof LookupError && (err.code === "ENOTFOUND" || err.code === "ENODATA");
