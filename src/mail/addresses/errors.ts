import { defineErrors } from "../../kernel/index.ts";

/** Errors of destination addresses. Their codes are in the range of Email Routing. */
export const addressErrors = defineErrors("email-routing", {
  noAddress: { code: 2903, http: 404, message: "Destination address not found" },
  tooManyAddresses: {
    code: 2904,
    http: 400,
    message: "An account can have at most {limit} destination addresses",
    fix: "Delete unused addresses.",
  },
  badAddress: {
    code: 2905,
    http: 422,
    message: "{address} is not an email address",
    fix: "Use one address like user@example.com with at most {limit} characters.",
  },
  tooSoon: {
    code: 2906,
    http: 429,
    message: "A verification email was sent to this address less than {seconds} seconds ago",
  },
  tooManyMails: {
    code: 2909,
    http: 429,
    message: "Rate limit exceeded: {limit} verification emails per account per hour",
  },
  verificationRefused: {
    code: 2910,
    http: 422,
    message: "The verification email to {address} was rejected: {reply}",
    fix: "Check the address. If it is correct, have its mail server allow mail from {from}, then resend the verification email.",
  },
  verificationDelayed: {
    code: 2918,
    http: 503,
    message: "Cannot send the verification email to {address} now: {reply}",
    fix: "Resend it later.",
  },
  adminOnly: {
    code: 2907,
    http: 403,
    message: "Only an administrator can verify an address without the verification email",
    fix: "Use a token with Account Settings Write, or open the link in the verification email.",
  },
  badLink: {
    code: 2908,
    http: 404,
    message: "The link is invalid or has expired",
    fix: "Request another verification email.",
  },
});
