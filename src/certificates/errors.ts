import { defineErrors } from "../kernel/index.ts";

/** Certificate errors that prevent the server from starting. */
export const certificateErrors = defineErrors("certificates", {
  badPair: {
    code: "tls_bad_pair",
    http: 400,
    message: "{cert} and {key} are not a matching certificate and private key: {reason}.",
    fix: "Set tls.cert_file to the certificate with its chain, and tls.key_file to its private key without a passphrase, both in PEM.",
  },
  unreadable: {
    code: "tls_unreadable",
    http: 400,
    message: "Cannot read {path}: {reason}.",
    fix: "Specify a file that the server's user can read.",
  },
  halfAPair: {
    code: "tls_half_a_pair",
    http: 400,
    message: "{set} is set, but {unset} is not.",
    fix: "Set both the certificate and its private key, or neither.",
  },
  badDirectory: {
    code: "tls_bad_directory",
    http: 400,
    message: "tls.acme_directory is not an https:// URL of an ACME directory: {directory}.",
    fix: "For Let's Encrypt, use https://acme-v02.api.letsencrypt.org/directory.",
  },
  noNames: {
    code: "tls_no_names",
    http: 400,
    message: "tls.acme_directory is set, but tls.acme_names is empty.",
    fix: "List the names that clients use, such as mx1.example.com.",
  },
  badName: {
    code: "tls_bad_name",
    http: 400,
    message: "{name} in tls.acme_names is not a valid host name for a certificate.",
    fix: "Use a fully qualified domain name such as mx1.example.com, or *.example.com with tls.acme_challenge dns-01.",
  },
  wildcardByHttp: {
    code: "tls_wildcard_by_http",
    http: 400,
    message: "{name} is a wildcard, which http-01 cannot validate.",
    fix: "Set tls.acme_challenge to dns-01, or list the names separately.",
  },
});
