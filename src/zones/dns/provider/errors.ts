import { defineErrors } from "../../../kernel/index.ts";

/** Errors of DNS providers and the `dns` settings. If one of these is thrown, nothing has been changed. */
export const dnsErrors = defineErrors("dns", {
  foreignRecords: {
    code: 9220,
    http: 409,
    message: "{name} already has other {type} records: {found}.",
    fix: "Remove them from your DNS, then retry: they conflict with the records that Reelpost manages.",
  },
  nameTaken: {
    code: 9221,
    http: 409,
    message: "{names}: a CNAME cannot coexist with other records of the same name (RFC 1034 3.6.2).",
    fix: "Remove the existing records, or use another name.",
  },
  changedMeanwhile: {
    code: 9222,
    http: 409,
    message: "Conflict: another client is changing the records of {zone}.",
    fix: "Retry.",
  },
  unreachable: {
    code: 9223,
    http: 502,
    message: "Cannot reach the DNS server {server}: {reason}.",
    fix: "Check that it is running and accepts connections from this machine.",
  },
  badKey: {
    code: 9224,
    http: 502,
    message: "The DNS server {server} rejected the key {key}: {reason}.",
    fix: "Use the same name, algorithm and secret on both sides, and synchronize both clocks to within five minutes.",
  },
  notServed: {
    code: 9225,
    http: 502,
    message: "The DNS server {server} is not authoritative for {zone}: {reason}.",
    fix: "Use the address of the zone's primary server, or create the zone on {server}.",
  },
  refused: {
    code: 9226,
    http: 502,
    message: "The DNS server {server} refused the update of {zone}: {reason}.",
    fix: "Allow the key to update these record types and names in the zone.",
  },
  badResolver: {
    code: 9228,
    http: 400,
    message: "{server} is not a valid resolver.",
    fix: "Use `address`, `address:port` or `[address]:port`.",
  },
  badProvider: {
    code: "bad_dns_provider",
    http: 400,
    message: "Invalid dns.provider {provider}: {reason}.",
    fix: "See docs/settings.md: rfc2136 requires `address:port` and `algorithm:name:secret` (hmac-sha256, hmac-sha384 or hmac-sha512, secret in base64), powerdns the URL of its API and the API key.",
  },
  noZoneForCertificate: {
    code: "no_zone_for_certificate",
    http: 400,
    message: "dns-01 cannot validate {name}: no zone on this server contains it.",
    fix: "Add the zone, or set tls.acme_challenge to http-01.",
  },
  badReply: { code: 9227, http: 502, message: "Invalid response from the DNS server {server}: {reason}." },
});
