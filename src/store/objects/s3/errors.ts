import { messageOf, UserError } from "../../../kernel/index.ts";
import { storeErrors } from "../../errors.ts";
import { addressOf, type S3Location } from "./address.ts";

/** The properties of an error of the SDK or of Node. */
interface Failure {
  name: string;
  message: string;
  code: string | undefined;
  status: number | undefined;
}

function failureOf(thrown: unknown): Failure {
  const {
    name = "",
    code,
    $metadata,
  } = (thrown ?? {}) as {
    name?: string;
    code?: unknown;
    $metadata?: { httpStatusCode?: number };
  };
  return {
    name,
    message: messageOf(thrown) || name || String(code),
    code: typeof code === "string" ? code : undefined,
    status: $metadata?.httpStatusCode,
  };
}

export const isMissing = (thrown: unknown): boolean => {
  const { name, status } = failureOf(thrown);
  return status === 404 && name !== "NoSuchBucket" && name !== "NoSuchUpload";
};
export const isUploadMissing = (thrown: unknown): boolean => failureOf(thrown).name === "NoSuchUpload";
export const isUploadDamaged = (thrown: unknown): boolean =>
  ["InvalidPart", "InvalidPartOrder", "EntityTooSmall"].includes(failureOf(thrown).name);
export const isPreconditionFailed = (thrown: unknown): boolean => failureOf(thrown).status === 412;
export const isRangeInvalid = (thrown: unknown): boolean => failureOf(thrown).status === 416;
/** True if the server asks the client to send fewer requests. */
export const isSlowDown = (thrown: unknown): boolean => {
  const { name, status } = failureOf(thrown);
  return status === 429 || /^(SlowDown|Throttling|RequestLimitExceeded|TooManyRequests)/.test(name);
};
/** True if the server does not implement the operation. */
export const isUnsupported = (thrown: unknown): boolean => {
  const { name, status } = failureOf(thrown);
  return status === 501 || status === 405 || name === "NotImplemented";
};

/** Codes for an exceeded quota. Some servers also respond with 507 (RFC 4918 11.5). */
const FULL = ["QuotaExceeded", "XMinioStorageFull", "InsufficientStorage", "StorageFull", "TooManyBuckets"];
const RETRIABLE = [
  "ConditionalRequestConflict",
  "RequestTimeout",
  "RequestTimeTooSkewed",
  "BadDigest",
  "XAmzContentSHA256Mismatch",
  "OperationAborted",
];

/**
 * True if a retry may succeed: connection errors, timeouts, 5xx, broken responses, and RequestTimeTooSkewed, after
 * which the SDK corrects its clock.
 */
export function isRetriable(thrown: unknown): boolean {
  if (thrown instanceof UserError) return false;
  const { name, status } = failureOf(thrown);
  if (FULL.includes(name) || status === 507 || isUnsupported(thrown) || isCredentialsProblem(thrown)) return false;
  return (
    status === undefined ||
    status >= 500 ||
    status === 408 ||
    isSlowDown(thrown) ||
    RETRIABLE.includes(name) ||
    // The response ended early, or its XML is damaged.
    (status >= 200 && status < 300)
  );
}

const isCredentialsProblem = (thrown: unknown): boolean =>
  /^(CredentialsProviderError|TokenProviderError|ProviderError)$/.test(failureOf(thrown).name);

/** Converts an error of the SDK to a StoreError if the user can fix it. */
export function toS3StoreError(thrown: unknown, location: S3Location, what: string): unknown {
  if (thrown instanceof UserError) return thrown;
  const { name, message, status } = failureOf(thrown);
  const cause = { cause: thrown };
  const address = addressOf(location);
  if (isCredentialsProblem(thrown)) return storeErrors.objectsDenied({ address, reason: message }, cause);
  if (name === "NoSuchBucket") return storeErrors.bucketMissing({ bucket: location.bucket, address }, cause);
  if (name === "RequestTimeTooSkewed") return storeErrors.clockSkew({ address, reason: message }, cause);
  if (FULL.includes(name) || status === 507) return storeErrors.bucketFull({ address, what }, cause);
  if (status === 401 || status === 403)
    return storeErrors.objectsDenied({ address, reason: `${name}${message === name ? "" : `: ${message}`}` }, cause);
  if (isRetriable(thrown) || status === 301 || status === 307 || name === "AuthorizationHeaderMalformed")
    return storeErrors.objectsUnreachable({ address, reason: reasonOf(thrown) }, cause);
  return thrown;
}

function reasonOf(thrown: unknown): string {
  const { name, message, code, status } = failureOf(thrown);
  if (status !== undefined && status >= 200) return `${status} ${name}${message === name ? "" : `: ${message}`}`;
  return code !== undefined && !message.includes(code) ? `${code}: ${message}` : message;
}
