/**
 * Why a name could not be looked up, in the words of node:dns. ENOTFOUND: there is no such name. ENODATA: it has no such records.
 * All others may pass: the servers failed, refused, or said nothing in time; EBUSY: too much is being looked up.
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

/** Nothing is there, for certain. */
export const isAbsence = (err: unknown): boolean =>
  err instanceof LookupError && (err.code === "ENOTFOUND" || err.code === "ENODATA");
