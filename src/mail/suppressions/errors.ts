import { defineErrors } from "../../kernel/index.ts";

/** The texts are those of the hosted API if it has one; the codes are specific to Reelpost. */
export const suppressionErrors = defineErrors("suppressions", {
  noSuppression: { code: 2920, http: 404, message: "Suppression not found" },
  readOnlySuppression: {
    code: 2921,
    http: 403,
    message: "This suppression is read-only.",
    fix: "Ask the operator of this server, who created it.",
  },
  accountSuppression: {
    code: 2932,
    http: 403,
    message: "This suppression applies to the whole account.",
    fix: "Delete it with the account-level endpoint.",
  },
  badSuppressionAddress: {
    code: 2922,
    http: 400,
    message: "{address} is not an email address",
    fix: "Use one address like user@example.com.",
  },
  badExpiry: {
    code: 2923,
    http: 400,
    message: "expires_at is not in the future",
    fix: "Use a later time, or null for a permanent suppression.",
  },
  badScope: {
    code: 2924,
    http: 400,
    message: "{value} is not a domain",
    fix: "For the scope sending_domain, use a domain such as example.com.",
  },
  noteTooLong: { code: 2925, http: 400, message: "A note can have at most {limit} characters" },
  nothingToChange: {
    code: 2926,
    http: 400,
    message: "No updatable fields supplied.",
    fix: "Set expires_at, note or both.",
  },
  scopeImmutable: {
    code: 2927,
    http: 400,
    message: "scope_immutable",
    fix: "Delete the suppression and create another one: its scope cannot change.",
  },
  badSearch: {
    code: 2928,
    http: 400,
    message: "Invalid search: {search}",
    fix: "Use a complete address, or user@ for that user at every domain.",
  },
  badCursor: {
    code: 2929,
    http: 400,
    message: "The cursor does not belong to this list",
    fix: "Pass result_info.next_cursor unchanged, or omit cursor to start from the beginning.",
  },
  tooManyItems: { code: 2930, http: 400, message: "An import can contain at most {limit} items" },
  tooManyImports: {
    code: 2931,
    http: 429,
    message: "Rate limited.",
    fix: "Send at most {limit} imports per account per minute.",
  },
});
