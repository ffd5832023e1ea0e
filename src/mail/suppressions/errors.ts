import { defineErrors } from "../../kernel/index.ts";

/** Texts are those of the hosted API where it has one; the codes are ours. */
export const suppressionErrors = defineErrors("suppressions", {
  noSuppression: { code: 2920, http: 404, message: "Suppression not found" },
  readOnlySuppression: {
    code: 2921,
    http: 403,
    message: "This suppression is read-only.",
    fix: "It was made by the operator of this server.",
  },
  badSuppressionAddress: {
    code: 2922,
    http: 400,
    message: "{address} is not an e-mail address",
    fix: "Give one address, like user@example.com.",
  },
  badExpiry: {
    code: 2923,
    http: 400,
    message: "expires_at is not in the future",
    fix: "Give a later time, or null for good.",
  },
  badScope: {
    code: 2924,
    http: 400,
    message: "{value} is not a domain",
    fix: "The value of the scope sending_domain is a domain, like example.com.",
  },
  noteTooLong: { code: 2925, http: 400, message: "A note has at most {limit} characters" },
  nothingToChange: {
    code: 2926,
    http: 400,
    message: "No updatable fields supplied.",
    fix: "Give expires_at, note or both.",
  },
  scopeImmutable: {
    code: 2927,
    http: 400,
    message: "scope_immutable",
    fix: "The scope of a suppression stays as it was made: delete it and make another.",
  },
  badSearch: {
    code: 2928,
    http: 400,
    message: "{search} is nothing to search for",
    fix: "Give a whole address, or user@ for that user at every domain.",
  },
  badCursor: {
    code: 2929,
    http: 400,
    message: "The cursor is not one of this list",
    fix: "Take result_info.next_cursor as it is, or leave cursor out to begin anew.",
  },
  tooManyItems: { code: 2930, http: 400, message: "An import has at most {limit} items" },
  tooManyImports: {
    code: 2931,
    http: 429,
    message: "Rate limited.",
    fix: "An account may import {limit} times in a minute.",
  },
});
