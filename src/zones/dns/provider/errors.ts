import { defineErrors } from "../../../kernel/index.ts";

/** What may go wrong with the DNS that a zone's records are kept in. Nothing was changed whenever one of these is thrown. */
export const dnsErrors = defineErrors("dns", {
  foreignRecords: {
    code: 9220,
    http: 409,
    message: "{name} already has {type} records that are not ours: {found}.",
    fix: "They would stop working, or work against ours. Remove them where you keep your DNS, then try again.",
  },
  nameTaken: {
    code: 9221,
    http: 409,
    message: "{names}: a CNAME and other records cannot stand at one name (RFC 1034 3.6.2).",
    fix: "Remove what stands there, or use another name.",
  },
  changedMeanwhile: {
    code: 9222,
    http: 409,
    message: "The records of {zone} are being changed by somebody else at the same time.",
    fix: "Try again.",
  },
  unreachable: {
    code: 9223,
    http: 502,
    message: "The DNS server {server} could not be reached: {reason}.",
    fix: "See that it runs, and that this machine may connect to it.",
  },
  badKey: {
    code: 9224,
    http: 502,
    message: "The DNS server {server} does not accept our key {key}: {reason}.",
    fix: "Name, algorithm and secret must be the same on both sides, and both clocks right to five minutes.",
  },
  notServed: {
    code: 9225,
    http: 502,
    message: "The DNS server {server} is not in charge of {zone}: {reason}.",
    fix: "Give the primary server of the zone, or make the zone there.",
  },
  refused: {
    code: 9226,
    http: 502,
    message: "The DNS server {server} refused the change of {zone}: {reason}.",
    fix: "Allow the key to change records of this zone: those types at those names.",
  },
  badResolver: {
    code: 9228,
    http: 400,
    message: "{server} is no resolver.",
    fix: "Name one as `address`, `address:port` or `[address]:port`.",
  },
  badReply: { code: 9227, http: 502, message: "The DNS server {server} gave an answer that cannot be used: {reason}." },
});
