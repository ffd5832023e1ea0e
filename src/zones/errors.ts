import { defineErrors } from "../kernel/index.ts";

/** Codes and texts are those of the hosted API, where it has them for the error. */
export const zoneErrors = defineErrors("zones", {
  noZone: { code: 1001, http: 404, message: "Invalid zone identifier", fix: "Zone {id} not found." },
  badName: {
    code: 1003,
    http: 400,
    message: "Invalid or missing zone name: {reason}",
    fix: "Use a domain such as example.com.",
  },
  publicSuffix: {
    code: 1049,
    http: 400,
    message: "{name} is not a registered domain",
    fix: "Use a domain registered under {name}, which is a public suffix.",
  },
  idTaken: {
    code: 1097,
    http: 409,
    permanent: true,
    message: "The id {id} is already in use",
    fix: "Use another id, or omit the Reelpost-Id header.",
  },
  zoneExists: {
    code: 1061,
    http: 400,
    message: "{name} already exists",
    fix: "Use the existing zone, or delete it first.",
  },
  othersZone: {
    code: 1097,
    http: 400,
    message: "{name} is part of {zone}, which belongs to another account",
    fix: "Create it in that account.",
  },
  unsupportedType: {
    code: 1098,
    http: 400,
    message: "Zones of type {type} are not supported",
    fix: "Use full (records on this server) or partial (records on another server).",
  },
  badVanity: { code: 1099, http: 400, message: "{host} is not a valid name server: {reason}" },

  noRecord: { code: 81044, http: 404, message: "Record does not exist." },
  dnsInvalid: { code: 1004, http: 400, message: "DNS Validation Error" },
  identical: { code: 81058, http: 400, message: "An identical record already exists." },
  addressExists: { code: 81053, http: 400, message: "An A, AAAA, or CNAME record with that host already exists." },
  cnameExists: { code: 81054, http: 400, message: "A CNAME record with that host already exists." },
  hostTaken: {
    code: 81055,
    http: 400,
    message: "A {other} record with that host already exists, which conflicts with {type}.",
    fix: "Delete the other record: a CNAME must be the only record (RFC 1034 3.6.2), and NS below the apex can only be combined with DS.",
  },
  nsExists: {
    code: 81056,
    http: 400,
    message: "NS records with that host already exist.",
    fix: "Create the record on those name servers: the name is delegated.",
  },
  quotaExceeded: {
    code: 81045,
    http: 400,
    message: "Record quota exceeded.",
    fix: "Delete unused records: a zone can have at most {quota}.",
  },
  locked: {
    code: 1046,
    http: 400,
    message: "This record is managed by {owner}. Unlock or disable {owner} to change it.",
  },
  batchTooLarge: { code: 81060, http: 400, message: "The maximum is {limit} changes per batch." },
  badImport: {
    code: 9207,
    http: 400,
    message: "The zone file was not imported: {count} invalid lines. Nothing was added.",
  },
  badFile: {
    code: 9208,
    http: 400,
    message: "The request has no form part named `file` with a zone file in UTF-8.",
    fix: "Send multipart/form-data with a BIND zone file as the part `file`.",
  },
  badFilter: { code: 9209, http: 400, message: "{field}: {reason}" },
});
