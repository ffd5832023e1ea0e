import { defineErrors } from "../kernel/index.ts";

/** What can be wrong with starting a server. */
export const serverErrors = defineErrors("start", {
  dataDirectoryBusy: {
    code: "data_directory_busy",
    http: 500,
    message: "Another Reelpost server (process {pid}) is using the data directory {directory}.",
    fix: "Stop it, or give this one a directory of its own with `--data-dir`.",
  },
  dataDirectoryUnusable: {
    code: "data_directory_unusable",
    http: 500,
    message: "The data directory {directory} cannot be used: {reason}.",
    fix: "Name a folder that this user may write to, with `--data-dir` or REELPOST_DATA_DIR.",
  },
  openToOthers: {
    code: "open_to_others",
    http: 400,
    message: "{host} can be reached by other machines, and {missing}.",
    fix: "{fix} Or listen on 127.0.0.1 only.",
  },
  noZoneForCertificate: {
    code: "no_zone_for_certificate",
    http: 400,
    message: "{name} is in no zone that is served here, so it cannot be shown by DNS that it is ours.",
    fix: "Add the zone, or set tls.acme_challenge to http-01.",
  },
  secretsElsewhere: {
    code: "secrets_elsewhere",
    http: 400,
    message: "secrets.key and secrets.key_file are both set, and name different places to take the key from.",
    fix: "Keep one of the two.",
  },
  otherKey: {
    code: "other_key",
    http: 500,
    message: "The secrets in this database were sealed with another key than the one that is configured.",
    fix: "Bring back the key: secrets.key of the data directory it was made in, or REELPOST_SECRETS_KEY. Processes that share a database share the key.",
  },
  otherObjects: {
    code: "other_objects",
    http: 500,
    message: "The folder of objects is not the one that belongs to this database.",
    fix: "Set objects.dir to the folder that all processes on this database share, or restore it from the backup the database is of.",
  },
  badDnsProvider: {
    code: "bad_dns_provider",
    http: 400,
    message: "dns.provider is {provider}, and {reason}.",
    fix: "See docs/settings.md: rfc2136 needs `address:port` and `algorithm:name:secret` (hmac-sha256, hmac-sha384 or hmac-sha512, the secret in base64), powerdns the address of its API and the API key.",
  },
  unknownRole: { code: "unknown_role", http: 400, message: "There is no role {role}.", fix: "The roles are {roles}." },
  rolesApart: {
    code: "roles_apart",
    http: 400,
    message: "{roles} alone needs a database that several processes can share.",
    fix: "Set database.url to a PostgreSQL server, or run every role in this process.",
  },
});
