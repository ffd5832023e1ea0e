import { defineErrors } from "../../kernel/index.ts";

/** Errors of destination addresses. Their codes are in the range of Email Routing. */
export const addressErrors = defineErrors("email-routing", {
  noAddress: { code: 2903, http: 404, message: "Destination address not found" },
  tooManyAddresses: {
    code: 2904,
    http: 400,
    message: "An account has at most {limit} destination addresses",
    fix: "Delete addresses that are not needed.",
  },
  badAddress: {
    code: 2905,
    http: 422,
    message: "{address} is not an e-mail address",
    fix: "Give one address, like user@example.com, of at most {limit} characters.",
  },
  tooSoon: {
    code: 2906,
    http: 429,
    message: "A verification mail was sent to this address less than {seconds} seconds ago",
  },
  tooManyMails: { code: 2909, http: 429, message: "An account may ask for {limit} verification mails in an hour" },
  verificationRefused: {
    code: 2910,
    http: 422,
    message: "The verification email to {address} was rejected: {reply}",
    fix: "Check the address. If it is correct, have its mail server allow mail from {from}, then resend the verification email.",
  },
  verificationDelayed: {
    code: 2918,
    http: 503,
    message: "The verification email to {address} cannot be sent now: {reply}",
    fix: "Resend it later.",
  },
  adminOnly: {
    code: 2907,
    http: 403,
    message: "Only an administrator may verify an address without its mail",
    fix: "Use a token with Account Settings Write, or open the link in the verification mail.",
  },
  badLink: {
    code: 2908,
    http: 404,
    message: "This link is not valid, or not any more",
    fix: "Ask for another verification mail.",
  },
});
