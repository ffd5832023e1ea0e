import { defineErrors } from "../kernel/index.ts";

/** What can be wrong with certificates before a server starts with them. */
export const certificateErrors = defineErrors("certificates", {
  badPair: {
    code: "tls_bad_pair",
    http: 400,
    message: "{cert} and {key} are not a certificate and its private key: {reason}.",
    fix: "tls.cert_file holds the certificate followed by its chain, tls.key_file the private key of it without a passphrase, both in PEM.",
  },
  unreadable: {
    code: "tls_unreadable",
    http: 400,
    message: "{path} cannot be read: {reason}.",
    fix: "Name a file that this user may read.",
  },
  halfAPair: {
    code: "tls_half_a_pair",
    http: 400,
    message: "{set} is set and {unset} is not.",
    fix: "A certificate and its private key go together: set both, or neither.",
  },
  badDirectory: {
    code: "tls_bad_directory",
    http: 400,
    message: "tls.acme_directory, {directory}, is not the https:// address of an ACME directory.",
    fix: "Let's Encrypt's is https://acme-v02.api.letsencrypt.org/directory.",
  },
  noNames: {
    code: "tls_no_names",
    http: 400,
    message: "tls.acme_directory is set, and tls.acme_names names nothing to ask a certificate for.",
    fix: "List the names that clients use, such as mx1.example.com.",
  },
  badName: {
    code: "tls_bad_name",
    http: 400,
    message: "{name} in tls.acme_names is not a host name a certificate can be for.",
    fix: "Write a full name such as mx1.example.com, or *.example.com with tls.acme_challenge dns-01.",
  },
  wildcardByHttp: {
    code: "tls_wildcard_by_http",
    http: 400,
    message: "{name} in tls.acme_names cannot be shown to be ours by HTTP.",
    fix: "Set tls.acme_challenge to dns-01, or list the names one by one.",
  },
});
