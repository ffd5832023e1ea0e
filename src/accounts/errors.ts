import { defineErrors } from "../kernel/index.ts";

/** Errors of accounts, users and API tokens. Clients of the hosted API expect codes 1000 and 9109 with these texts. */
export const accountErrors = defineErrors("accounts", {
  // ---- authentication
  invalidToken: {
    code: 1000,
    http: 401,
    message: "Invalid API Token",
    fix: "It is unknown, revoked, disabled or expired, or it belongs to a different owner than the one in the path.",
  },
  wrongAddress: {
    code: 9109,
    http: 403,
    message: "Cannot use the access token from location: {ip}",
    fix: "The token's condition.request_ip does not include this address.",
  },
  notAllowed: { code: 9109, http: 403, message: "Unauthorized to access requested resource", fix: "{why}" },
  exceeds: {
    code: 9109,
    http: 403,
    message: "Unauthorized to access requested resource",
    fix: "A token cannot grant more than it has: the calling token lacks {permission} on {place}.",
  },
  outlasts: {
    code: 9109,
    http: 403,
    message: "Unauthorized to access requested resource",
    fix: "A token cannot create a token with fewer restrictions than its own: set {bound}.",
  },

  // ---- tokens
  badToken: { code: 1001, http: 400, message: "Invalid API token: {field}: {reason}" },
  noToken: { code: 1003, http: 404, message: "API token {id} not found" },
  tooManyTokens: {
    code: 1012,
    http: 400,
    message: "The limit of {limit} API tokens has been reached",
    fix: "Delete unused tokens, or raise the limit in the configuration.",
  },

  // ---- accounts and memberships
  badAccount: { code: 1001, http: 400, message: "Invalid account: {field}: {reason}" },
  noAccount: { code: 1002, http: 404, message: "Account {id} not found" },
  lastAccount: {
    code: 1021,
    http: 409,
    permanent: true,
    message: "Cannot delete the last account",
    fix: "Create another account first.",
  },
  accountNotEmpty: {
    code: 1022,
    http: 409,
    permanent: true,
    message: "The account is not empty: it has {contents}",
    fix: "Delete them first.",
  },
  tooManyAccounts: {
    code: 1023,
    http: 400,
    message: "The limit of {limit} accounts has been reached",
    fix: "Delete unused accounts.",
  },
  noMembership: { code: 1031, http: 404, message: "Membership {id} not found" },
  lastAdministrator: {
    code: 1032,
    http: 409,
    permanent: true,
    message: "Cannot remove the last administrator of the account",
    fix: "Make another member an administrator first, or delete the account.",
  },
  weakToken: {
    code: "E_WEAK_TOKEN",
    http: 400,
    message: "The first API token must be 32 to 200 visible ASCII characters without spaces",
    fix: "Set api.token to the output of `openssl rand -hex 20`, or leave it empty to have one created.",
  },
  noUser: {
    code: 1041,
    http: 404,
    message: "There is no user yet",
    fix: "Start `reelpost serve` once: the first run creates a user.",
  },
});
