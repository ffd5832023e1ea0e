import { defineErrors } from "../../kernel/index.ts";

/** Codes up to 2062 are known to clients from the hosted API; the others are specific to Reelpost. */
export const routingErrors = defineErrors("email-routing", {
  invalidInput: { code: 2007, http: 422, message: "Invalid Input. {reason}" },
  unknownWorker: {
    code: 2016,
    http: 422,
    message: "Worker not found: {worker}",
    fix: "Deploy it first, in the account of the zone.",
  },
  invalidOperation: {
    code: 2020,
    http: 409,
    permanent: true,
    message: "Invalid rule operation",
    fix: "Use rules/catch_all: every zone has a catch-all rule.",
  },
  notVerified: {
    code: 2054,
    http: 400,
    message: "Destination address is not verified",
    fix: "Add {address} to the destination addresses of the account and open the link in the verification email.",
  },
  unknownDomain: {
    code: 2062,
    http: 400,
    message: "Unknown Email Routing domain: {name}",
    fix: "Enable Email Routing for that name in a zone of this account.",
  },

  noRule: { code: 2901, http: 404, message: "Routing rule not found" },
  tooManyRules: {
    code: 2902,
    http: 400,
    message: "A zone can have at most {limit} routing rules",
    fix: "Delete unused rules, or use the catch-all rule.",
  },
  tooManyPatterns: {
    code: 2916,
    http: 400,
    message: "A zone can have at most {limit} rules with a glob or a regular expression",
    fix: "Combine patterns into one regular expression, or use the catch-all rule.",
  },

  mxInTheWay: {
    code: 2911,
    http: 409,
    permanent: true,
    message: "{name} has MX records that point to another mail service: {records}",
    fix: "Delete them first: they route mail for {name} elsewhere. Nothing was changed.",
  },
  notInZone: { code: 2912, http: 400, message: "{name} is not in the zone {zone}" },
  ownZone: { code: 2913, http: 400, message: "{name} is in the zone {other}", fix: "Enable Email Routing there." },
  tooManyDomains: {
    code: 2914,
    http: 400,
    message: "Email Routing supports at most {limit} names per zone",
    fix: "Disable Email Routing for unused names.",
  },
  notEnabled: { code: 2915, http: 404, message: "Email Routing is not enabled for {name}" },
});
