import type { UserError } from "../../../kernel/index.ts";
import { streamErrors } from "../../../stream/index.ts";

/** The video API has its own error code for an invalid body or query. */
export const toBadParameter = (error: UserError): UserError => {
  if (error.domain !== "api" || error.kind !== "badRequest") return error;
  const { reason, chain } = error.details;
  return streamErrors.badParameter({ reason, ...(Array.isArray(chain) && { chain }) }, { cause: error });
};
