import { UserError, defineErrors } from "../../kernel/index.ts";

/** Errors of the S3 API. `code` is the error code in the XML response. */
export const s3Errors = defineErrors("s3", {
  unauthorized: {
    code: "Unauthorized",
    http: 401,
    message: "Missing or invalid authentication: {why}.",
  },
  accessDenied: { code: "AccessDenied", http: 403, message: "Access Denied: {why}." },
  expired: { code: "ExpiredRequest", http: 400, message: "The presigned URL has expired." },
  skewed: {
    code: "RequestTimeTooSkewed",
    http: 403,
    message: "The difference between the request time and the server's time is more than 15 minutes.",
  },
  signatureDiffers: {
    code: "SignatureDoesNotMatch",
    http: 403,
    message:
      "The request signature we calculated does not match the signature you provided. Check your secret access key and signing method.",
  },
  malformedAuthorization: {
    code: "AuthorizationHeaderMalformed",
    http: 400,
    message: "The authorization is not valid: {why}.",
  },
  invalidRequest: { code: "InvalidRequest", http: 400, message: "{problem}" },
  invalidArgument: { code: "InvalidArgument", http: 400, message: "{problem}" },
  invalidUri: { code: "InvalidURI", http: 400, message: "Couldn't parse the specified URI." },
  malformedXml: {
    code: "MalformedXML",
    http: 400,
    message: "The XML you provided was not well-formed or did not validate against our published schema: {why}.",
  },
  xmlTooLarge: { code: "EntityTooLarge", http: 400, message: "The XML body is larger than {limit} bytes." },
  invalidDigest: { code: "InvalidDigest", http: 400, message: "The value of {header} is not a valid checksum." },
  badDigest: {
    code: "BadDigest",
    http: 400,
    message: "The {algorithm} checksum you specified did not match what we received.",
  },
  contentDiffers: {
    code: "XAmzContentSHA256Mismatch",
    http: 400,
    message: "The provided x-amz-content-sha256 header does not match what was computed.",
  },
  malformedChunks: { code: "IncompleteBody", http: 400, message: "The aws-chunked body is malformed or incomplete." },
  missingLength: {
    code: "MissingContentLength",
    http: 411,
    message: "You must provide the Content-Length HTTP header.",
  },
  invalidPartOrder: {
    code: "InvalidPartOrder",
    http: 400,
    message: "The list of parts was not in ascending order. The parts list must be specified in order by part number.",
  },
  invalidPartNumber: {
    code: "InvalidPartNumber",
    http: 416,
    message: "The requested partnumber is not satisfiable.",
  },
  invalidStorageClass: {
    code: "InvalidStorageClass",
    http: 400,
    message: "The storage class {storageClass} is not valid: use STANDARD or STANDARD_IA.",
  },
  invalidLocation: {
    code: "InvalidLocationConstraint",
    http: 400,
    message: "The specified location constraint {location} is not valid.",
  },
  methodNotAllowed: {
    code: "MethodNotAllowed",
    http: 405,
    message: "The specified method is not allowed against this resource.",
  },
  corsForbidden: {
    code: "AccessForbidden",
    http: 403,
    message: "CORSResponse: This CORS request is not allowed. It matches no CORS rule of the bucket.",
  },
  headerNotImplemented: {
    code: "NotImplemented",
    http: 501,
    message: "Header '{header}' with value '{value}' not implemented",
  },
  notImplemented: { code: "NotImplemented", http: 501, message: "{feature} not implemented" },
  noLifecycle: {
    code: "NoSuchLifecycleConfiguration",
    http: 404,
    message: "The lifecycle configuration does not exist.",
  },
  internal: { code: "InternalError", http: 500, message: "We encountered an internal error. Please try again." },
  slowDown: { code: "SlowDown", http: 503, message: "Please reduce your request rate: {why}." },
  unavailable: {
    code: "ServiceUnavailable",
    http: 503,
    message: "The storage is temporarily unavailable. Please try again.",
  },
});

/** S3 error code and HTTP status of each R2 error, by kind. */
const S3_CODES: Record<string, [code: string, http?: number]> = {
  bucketExists: ["BucketAlreadyOwnedByYou"],
  invalidBucketName: ["InvalidBucketName"],
  noSuchBucket: ["NoSuchBucket"],
  bucketNotEmpty: ["BucketNotEmpty"],
  noSuchKey: ["NoSuchKey"],
  entityTooSmall: ["EntityTooSmall"],
  metadataTooLarge: ["MetadataTooLarge"],
  incompleteBody: ["IncompleteBody"],
  invalidObjectName: ["InvalidObjectName"],
  invalidMaxKeys: ["InvalidMaxKeys"],
  noSuchUpload: ["NoSuchUpload"],
  invalidPart: ["InvalidPart"],
  invalidKeyCount: ["MalformedXML"],
  invalidArgument: ["InvalidArgument"],
  preconditionFailed: ["PreconditionFailed"],
  missingContentLength: ["MissingContentLength"],
  badDigest: ["BadDigest"],
  invalidRange: ["InvalidRange"],
  unavailable: ["ServiceUnavailable"],
  unequalParts: ["InvalidPart"],
  entityTooLarge: ["EntityTooLarge"],
  // Bucket settings.
  noCors: ["NoSuchCORSConfiguration"],
  invalidCors: ["MalformedXML"],
  noLifecycle: ["NoSuchLifecycleConfiguration"],
  invalidLifecycle: ["MalformedXML"],
};

/** Maps an error to an S3 error. Returns undefined for an internal error, which the caller logs. */
export function s3ErrorOf(err: unknown): { code: string; status: number; message: string } | undefined {
  if (!(err instanceof UserError)) return undefined;
  const { message, entry, domain, kind } = err;
  if (domain === "s3") return { code: String(entry.code), status: entry.http, message };
  if (domain === "accounts" && kind === "wrongAddress") return { code: "AccessDenied", status: 403, message };
  const mapping = domain === "r2" || domain === "r2-settings" ? S3_CODES[kind] : undefined;
  return mapping && { code: mapping[0], status: mapping[1] ?? entry.http, message };
}
