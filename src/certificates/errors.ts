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
});
