import { defineErrors } from "../../kernel/index.ts";

/** SMTP replies to peers that write to a return path. */
export const bounceErrors = defineErrors("mail-returns", {
  onlyReports: {
    code: "E_REJECTED",
    http: 400,
    smtp: 550,
    enhanced: "5.7.1",
    message: "This address accepts delivery status notifications only",
    fix: "Write to the address in the From field of the message.",
  },
  reporterUnknown: {
    code: "E_REJECTED",
    http: 400,
    smtp: 550,
    enhanced: "5.7.26",
    message: "Feedback report rejected: its author is not authenticated",
    fix: "Send it so that it passes DMARC: SPF or DKIM must pass with a domain aligned with the From domain (RFC 7489 3.1).",
  },
  noSuchPath: {
    code: "E_RECIPIENT_NOT_ALLOWED",
    http: 400,
    smtp: 550,
    enhanced: "5.1.1",
    message: "Unknown return path",
  },
  pathExpired: {
    code: "E_RECIPIENT_NOT_ALLOWED",
    http: 400,
    smtp: 550,
    enhanced: "5.1.1",
    message: "Return path expired",
  },
  tooManyReports: {
    code: "E_RATE_LIMIT_EXCEEDED",
    http: 429,
    smtp: 450,
    enhanced: "4.7.1",
    message: "Too many reports for this address, try again later",
  },
});
