import { defineErrors } from "../kernel/index.ts";

/** Codes and texts are those clients know from the hosted API, where it has one for the case. */
export const zoneErrors = defineErrors("zones", {
  noZone: { code: 1001, http: 404, message: "Invalid zone identifier", fix: "There is no zone {id}." },
  badName: {
    code: 1003,
    http: 400,
    message: "Invalid or missing zone name: {reason}",
    fix: "Give a domain such as example.com.",
  },
  publicSuffix: {
    code: 1049,
    http: 400,
    message: "{name} is not a registered domain",
    fix: "Domains are registered below {name}: give one of those.",
  },
  zoneExists: {
    code: 1061,
    http: 400,
    message: "{name} already exists",
    fix: "List the zones, or delete the other one first.",
  },
  othersZone: {
    code: 1097,
    http: 400,
    message: "{name} is part of {zone}, which belongs to another account",
    fix: "Make it in that account.",
  },
  unsupportedType: {
    code: 1098,
    http: 400,
    message: "Zones of type {type} are not supported",
    fix: "Use full (the records live here) or partial (they are kept elsewhere, and shown here).",
  },
  badVanity: { code: 1099, http: 400, message: "{host} is no name of a name server: {reason}" },

  noRecord: { code: 81044, http: 404, message: "Record does not exist." },
  dnsInvalid: { code: 1004, http: 400, message: "DNS Validation Error" },
  identical: { code: 81058, http: 400, message: "An identical record already exists." },
  addressExists: { code: 81053, http: 400, message: "An A, AAAA, or CNAME record with that host already exists." },
  cnameExists: { code: 81054, http: 400, message: "A CNAME record with that host already exists." },
  hostTaken: {
    code: 81055,
    http: 400,
    message: "A {other} record with that host already exists, and {type} does not go with it.",
    fix: "RFC 1034 3.6.2: a CNAME stands alone. NS below the zone's own name only goes with DS.",
  },
  nsExists: {
    code: 81056,
    http: 400,
    message: "NS records with that host already exist.",
    fix: "The name is delegated: its records are in the zone of those name servers.",
  },
  quotaExceeded: {
    code: 81045,
    http: 400,
    message: "Record quota exceeded.",
    fix: "A zone holds at most {quota} records.",
  },
  locked: {
    code: 1046,
    http: 400,
    message: "This record is managed by {owner}. Unlock or disable {owner} to change it.",
  },
  batchTooLarge: { code: 81060, http: 400, message: "A batch holds at most {limit} changes." },
  badImport: {
    code: 9207,
    http: 400,
    message: "The zone file was not imported: {count} of its lines cannot be used. Nothing was added.",
  },
  badFile: { code: 9208, http: 400, message: "The form needs a part called file with a BIND zone file in UTF-8." },
  badFilter: { code: 9209, http: 400, message: "{field}: {reason}" },
});
