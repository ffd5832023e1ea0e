import { defineErrors } from "../../../kernel/index.ts";

/** The codes and messages that workers see at the end of an R2 error: `put: Your metadata ... (10012)`. */
export const r2Errors = defineErrors("r2", {
  internal: { code: 10001, http: 500, message: "We encountered an internal error. Please try again." },
  bucketExists: {
    code: 10004,
    http: 409,
    permanent: true,
    message: "The bucket you tried to create already exists, and you own it.",
  },
  invalidBucketName: {
    code: 10005,
    http: 400,
    message: "The specified bucket name is not valid.",
    fix: "Use 3 to 63 lowercase letters, digits and hyphens, with a letter or a digit at both ends.",
  },
  noSuchBucket: {
    code: 10006,
    http: 404,
    message: "The specified bucket does not exist.",
    fix: "Create the bucket first, or correct its name.",
  },
  bucketNotEmpty: {
    code: 10008,
    http: 409,
    permanent: true,
    message: "The bucket you tried to delete ({name}) is not empty (account {account}).",
    fix: "Delete its objects first.",
  },
  noSuchKey: { code: 10007, http: 404, message: "The specified key does not exist." },
  entityTooSmall: {
    code: 10011,
    http: 400,
    message: "Your proposed upload is smaller than the minimum allowed object size.",
    fix: "Make every part but the last at least 5 MiB.",
  },
  metadataTooLarge: {
    code: 10012,
    http: 400,
    message: "Your metadata headers exceed the maximum allowed metadata size.",
    fix: "Store large values in the object itself.",
  },
  incompleteBody: {
    code: 10013,
    http: 400,
    message: "You did not provide the number of bytes specified by the Content-Length HTTP header.",
    fix: "Send exactly as many bytes as Content-Length declares: {size}.",
  },
  invalidObjectName: {
    code: 10020,
    http: 400,
    message: "The specified object name is not valid.",
    fix: "Use at most 1024 bytes of UTF-8 text without U+0000.",
  },
  invalidMaxKeys: { code: 10022, http: 400, message: "MaxKeys params must be positive integer <= 1000." },
  noSuchUpload: {
    code: 10024,
    http: 404,
    message: "The specified multipart upload does not exist.",
    fix: "Create a new upload: this one was completed or aborted, has expired, or belongs to another key.",
  },
  invalidPart: {
    code: 10025,
    http: 400,
    message: "One or more of the specified parts could not be found.",
    fix: "List each part once, with the etag that its last uploadPart() returned.",
  },
  invalidKeyCount: {
    code: 10027,
    http: 400,
    message: "The number of keys in the request must be between 1 and 1000 inclusive.",
    fix: "Delete in batches.",
  },
  invalidArgument: { code: 10029, http: 400, message: "{problem}" },
  preconditionFailed: {
    code: 10031,
    http: 412,
    message: "At least one of the pre-conditions you specified did not hold.",
  },
  missingContentLength: { code: 10033, http: 411, message: "You must provide the Content-Length HTTP header." },
  badDigest: {
    code: 10037,
    http: 400,
    message:
      "The {algorithm} checksum you specified did not match what we received.\nYou provided a {algorithm} checksum with value: {given}\nActual {algorithm} was: {actual}",
  },
  invalidRange: {
    code: 10039,
    http: 416,
    message: "The requested range is not satisfiable",
    fix: "Request a range within the object, which is {size} bytes long.",
  },
  unavailable: { code: 10043, http: 503, message: "The storage is temporarily unavailable. Please try again." },
  unequalParts: {
    code: 10048,
    http: 400,
    message: "All non-trailing parts must have the same length.",
    fix: "Split the object into equal parts; only the last one may be smaller.",
  },
  tooManyJobs: {
    code: 10058,
    http: 429,
    message: "Too many concurrent prefix delete jobs for this bucket. Please wait for existing jobs to complete.",
  },
  entityTooLarge: { code: 100100, http: 400, message: "Your proposed upload exceeds the maximum allowed object size." },
});
