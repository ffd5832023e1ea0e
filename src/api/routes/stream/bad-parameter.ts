import type { UserError } from "../../../kernel/index.ts";
import { streamErrors } from "../../../stream/index.ts";

/** What is wrong with a body or a query has a code of its own in the video service. */
export const translate = (error: UserError): UserError => {
  if (error.domain !== "api" || error.kind !== "badRequest") return error;
  const { reason, chain } = error.details;
  return streamErrors.badParameter({ reason, ...(Array.isArray(chain) && { chain }) }, { cause: error });
};
