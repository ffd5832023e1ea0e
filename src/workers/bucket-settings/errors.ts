import { defineErrors } from "../../kernel/index.ts";

/** Errors of bucket settings. */
export const bucketSettingsErrors = defineErrors("r2-settings", {
  noCors: { code: 10059, http: 404, message: "The CORS configuration does not exist." },
  invalidCors: { code: 10058, http: 400, message: "The CORS configuration is not valid: {reason}." },
  invalidLifecycle: { code: 10061, http: 400, message: "The lifecycle configuration is not valid: {reason}." },
  noLifecycle: { code: 10060, http: 404, message: "The lifecycle configuration does not exist." },
  noNotification: {
    code: 11015,
    http: 404,
    message: "The event notification configuration does not exist: {reason}.",
    fix: "List the event notification rules of the bucket.",
  },
  tooManyNotifications: {
    code: 11016,
    http: 400,
    message: "A bucket can have at most {limit} event notification rules.",
    fix: "Delete unused rules.",
  },
  noDomain: { code: 10062, http: 404, message: "The domain {domain} is not a custom domain of this bucket." },
  domainTaken: {
    code: 10063,
    http: 409,
    permanent: true,
    message: "The domain {domain} is already a custom domain of a bucket.",
    fix: "Remove it from that bucket first.",
  },
  tooManyDomains: {
    code: 10065,
    http: 400,
    message: "The {owner} already has {limit} custom domains.",
    fix: "Remove unused custom domains.",
  },
  invalidDomain: { code: 10064, http: 400, message: "The domain {domain} is not valid: {reason}." },
});
