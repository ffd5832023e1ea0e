import { defineErrors } from "../../kernel/index.ts";

/**
 * Errors of sending domains and their records. Codes up to 2067 are known to clients from the hosted API; the others
 * are specific to Reelpost.
 */
export const sendingErrors = defineErrors("email-sending", {
  foreignMx: {
    code: 2008,
    http: 409,
    permanent: true,
    message: "{name} has MX records that point to another mail service: {records}",
    fix: "Delete them first: bounces must be delivered to this server. Nothing was changed.",
  },
  badWindow: {
    code: 2011,
    http: 422,
    message: "Invalid time window: {reason}",
    fix: "Set start_at and end_at (RFC 3339) at most seven days apart.",
  },
  multipleSpf: {
    code: 2026,
    http: 409,
    permanent: true,
    message: "{name} has another SPF record: {records}",
    fix: "Delete the other, or add {include} to it: a name can have only one (RFC 7208 4.5). Nothing was changed.",
  },
  multipleDmarc: {
    code: 2027,
    http: 409,
    permanent: true,
    message: "{name} has several DMARC records: {records}",
    fix: "Delete the others: a name can have only one (RFC 7489 6.6.3). Nothing was changed.",
  },
  noSendingDomain: { code: 2033, http: 404, message: "Sending subdomain not found" },
  wildcardNotAllowed: {
    code: 2067,
    http: 403,
    message: "Wildcard Email Sending is not enabled for this account.",
    fix: "Enable each sending subdomain separately: {name} is a wildcard.",
  },

  sendingNotInZone: { code: 2940, http: 400, message: "{name} is not in the zone {zone}" },
  multipleDkim: {
    code: 2941,
    http: 409,
    permanent: true,
    message: "{name} has other DKIM records: {records}",
    fix: "Delete the others: a selector can have only one (RFC 6376 3.6.2.2). Nothing was changed.",
  },
  sendingOwnZone: {
    code: 2942,
    http: 400,
    message: "{name} is in the zone {other}",
    fix: "Enable Email Sending there.",
  },
  tooManySendingDomains: {
    code: 2943,
    http: 400,
    message: "Email Sending supports at most {limit} names per zone",
    fix: "Disable Email Sending for unused names.",
  },
});
