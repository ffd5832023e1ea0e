import { defineErrors } from "../kernel/index.ts";

/** Errors of accounts, users and API tokens. Clients of the hosted API expect codes 1000 and 9109 with these texts. */
export const accountErrors = defineErrors("accounts", {
  // ---- authentication
  invalidToken: {
    code: 1000,
    http: 401,
    message: "Invalid API Token",
    fix: "Create another token: this one is unknown, revoked, disabled or expired, or belongs to a different owner than the one in the path.",
  },
  wrongAddress: {
    code: 9109,
    http: 403,
    message: "Cannot use the access token from location: {ip}",
    fix: "Add this address to condition.request_ip of the token, or use another token.",
  },
  notAllowed: { code: 9109, http: 403, message: "Unauthorized to access requested resource", fix: "{why}" },
  exceeds: {
    code: 9109,
    http: 403,
    message: "Unauthorized to access requested resource",
    fix: "Use a token with {permission} on {place}: a token can grant only permissions that it has.",
  },
  outlasts: {
    code: 9109,
    http: 403,
    message: "Unauthorized to access requested resource",
    fix: "Set {bound}: a token cannot create a token with fewer restrictions than its own.",
  },

  // ---- tokens
  badToken: { code: 1001, http: 400, message: "Invalid API token: {field}: {reason}" },
  noToken: { code: 1003, http: 404, message: "API token {id} not found" },
  tooManyTokens: {
    code: 1012,
    http: 400,
    message: "The limit of {limit} API tokens has been reached",
    fix: "Delete unused tokens.",
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
  badAuditFilter: { code: 1001, http: 400, message: "Invalid filter: {field}: {reason}" },
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

  // ---- sessions and sign-in
  noSession: { code: 1051, http: 404, message: "Session {id} not found" },
  signInFailed: {
    code: 1052,
    http: 401,
    message: "Wrong email address or password",
    fix: "Check both, or sign in with another method. If you have lost access, run `reelpost sign-in-link` on the server.",
  },
  badLink: {
    code: 1053,
    http: 401,
    message: "The sign-in link is invalid, has already been used, or has expired",
    fix: "Create another one with `reelpost sign-in-link` on the server.",
  },
  badCode: {
    code: 1054,
    http: 401,
    message: "Wrong code",
    fix: "Enter the current code from the authenticator app. Each code can be used once. A recovery code has 16 characters.",
  },
  signInExpired: {
    code: 1055,
    http: 401,
    message: "The sign-in took too long, or was started elsewhere",
    fix: "Start again.",
  },
  badPasskey: {
    code: 1056,
    http: 401,
    message: "The passkey was not accepted: {reason}",
    fix: "Use a passkey that was registered for {host}, or sign in with another method.",
  },
  oidcOff: {
    code: 1057,
    http: 404,
    message: "Sign-in with OpenID Connect is not configured",
    fix: "Set dashboard.oidc_issuer, dashboard.oidc_client_id and dashboard.oidc_client_secret.",
  },
  oidcIncomplete: {
    code: "E_OIDC_INCOMPLETE",
    http: 400,
    message: "dashboard.oidc_issuer is set, but dashboard.oidc_client_id is not",
    fix: "Register this server with the provider, and set dashboard.oidc_client_id and dashboard.oidc_client_secret.",
  },
  oidcFailed: {
    code: 1058,
    http: 401,
    message: "The sign-in at {issuer} failed: {reason}",
    fix: "Start again. If it fails again, check the dashboard.oidc settings.",
  },
  oidcUnreachable: {
    code: 1059,
    http: 502,
    message: "Cannot reach {issuer}: {reason}",
    fix: "Check dashboard.oidc_issuer. Until the issuer is reachable, sign in with another method.",
  },
  notMember: {
    code: 1060,
    http: 403,
    message: "{email} cannot sign in here: {reason}",
    fix: "Ask an administrator for an invitation to this address.",
  },
  tooManySignIns: {
    code: 1061,
    http: 429,
    message: "Too many failed sign-in attempts",
    fix: "Try again in {seconds} seconds.",
  },
  signInBusy: {
    code: 1062,
    http: 503,
    message: "Too many concurrent sign-ins",
    fix: "Try again in a few seconds.",
  },

  // ---- sign-in methods of a user
  confirmationRequired: {
    code: 1063,
    http: 403,
    message: "Changing how a user signs in requires confirmation: {reason}",
    fix: "{how}",
  },
  badPassword: { code: 1064, http: 400, message: "The password {reason}", fix: "Choose another password." },
  twoFactorOn: {
    code: 1065,
    http: 409,
    permanent: true,
    message: "Two-factor authentication is already enabled",
    fix: "Disable it first.",
  },
  twoFactorOff: {
    code: 1066,
    http: 409,
    permanent: true,
    message: "Two-factor authentication is not enabled",
    fix: "Enroll an authenticator app, and confirm it with a code.",
  },
  noPasskey: { code: 1067, http: 404, message: "Passkey {id} not found" },
  tooManyPasskeys: {
    code: 1068,
    http: 400,
    message: "The limit of {limit} passkeys has been reached",
    fix: "Delete unused passkeys.",
  },
  noPasskeyHost: {
    code: 1069,
    http: 400,
    message: "Passkeys cannot be used at {origin}",
    fix: "Open the dashboard over HTTPS at a host name, or at http://localhost on this machine.",
  },
  noUserOf: {
    code: 1070,
    http: 404,
    message: "No user has the email address {email}",
    fix: "Pass the address of an existing user; `reelpost members list` lists those of an account.",
  },
  noPassword: {
    code: 1071,
    http: 404,
    message: "The user has no password",
    fix: "Set one in the dashboard.",
  },
  secondFactorRequired: {
    code: 1072,
    http: 403,
    message: "One of your accounts requires two-factor authentication",
    fix: "Enable it in the dashboard under Your account, or sign in with a passkey.",
  },

  // ---- members
  memberExists: { code: 1080, http: 409, permanent: true, message: "{email} is already a member of the account" },
  alreadyInvited: {
    code: 1081,
    http: 409,
    permanent: true,
    message: "{email} is already invited to the account",
    fix: "Send the invitation again, or remove the member to cancel it.",
  },
  notInvited: {
    code: 1082,
    http: 409,
    permanent: true,
    message: "{email} has no pending invitation",
    fix: "Invite the address first.",
  },
  tooManyMembers: {
    code: 1083,
    http: 400,
    message: "The account has reached the maximum of {limit} members",
    fix: "Remove members, or cancel invitations.",
  },
  tooManyInvitations: {
    code: 1084,
    http: 429,
    message: "Rate limit exceeded: {limit} invitations per account per day",
  },
  exceedsRole: {
    code: 9109,
    http: 403,
    message: "Unauthorized to access requested resource",
    fix: "Use a token of an administrator with every permission, or the dashboard: the role {role} includes {permission}, which the calling token does not have.",
  },
  noRole: {
    code: 1085,
    http: 404,
    message: "Role {id} not found",
    fix: "List the roles with GET /accounts/<account>/roles.",
  },
  badMember: { code: 1086, http: 400, message: "Invalid member: {field}: {reason}" },
  noInvitation: { code: 1087, http: 404, message: "Invitation {id} not found" },
  invitationExpired: {
    code: 1088,
    http: 410,
    message: "The invitation has expired",
    fix: "Ask an administrator of the account to send it again.",
  },
  badInvitation: {
    code: 1089,
    http: 401,
    message: "The invitation is invalid, has already been used, or has expired",
    fix: "Ask an administrator of the account to send it again.",
  },
  invitationRefused: {
    code: 1090,
    http: 422,
    message: "The invitation email to {address} was rejected by the mail server: {reply}",
    fix: "Check the address. If it is correct, have its mail server allow mail from {from}, then send the invitation again.",
  },
  invitationDelayed: {
    code: 1091,
    http: 503,
    message: "Cannot send the invitation to {address} now: {reply}",
    fix: "Try again later.",
  },
});
