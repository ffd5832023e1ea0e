import type { R2Object, StorageClass } from "../bindings/r2/index.ts";
import { metadataFromHeaders } from "../bindings/r2/index.ts";
import { s3Errors } from "./errors.ts";

const STORAGE_CLASS_NAMES: Record<StorageClass, string> = { Standard: "STANDARD", InfrequentAccess: "STANDARD_IA" };

export const s3StorageClass = (storageClass: StorageClass): string => STORAGE_CLASS_NAMES[storageClass];

/** Returns the storage class in the headers; undefined if there is none. Throws invalidStorageClass. */
export function storageClassOf(headers: Headers): StorageClass | undefined {
  const requestedClass = headers.get("x-amz-storage-class");
  if (requestedClass === null || requestedClass === "") return undefined;
  if (requestedClass === "STANDARD") return "Standard";
  if (requestedClass === "STANDARD_IA") return "InfrequentAccess";
  throw s3Errors.invalidStorageClass({ storageClass: JSON.stringify(requestedClass.slice(0, 100)) });
}

/** Replaces R2 header names with S3 header names. */
export function s3ObjectHeaders(headers: Headers, object: R2Object): Headers {
  headers.delete("cf-r2-storage-class");
  headers.set("x-amz-storage-class", s3StorageClass(object.storageClass));
  return headers;
}

const UNSUPPORTED_HEADERS = [
  "x-amz-tagging",
  "x-amz-website-redirect-location",
  "x-amz-object-lock-mode",
  "x-amz-object-lock-retain-until-date",
  "x-amz-object-lock-legal-hold",
  "x-amz-server-side-encryption-customer-algorithm",
  "x-amz-server-side-encryption-customer-key",
  "x-amz-server-side-encryption-aws-kms-key-id",
  "x-amz-copy-source-server-side-encryption-customer-algorithm",
  "x-amz-grant-full-control",
  "x-amz-grant-read",
  "x-amz-grant-read-acp",
  "x-amz-grant-write",
  "x-amz-grant-write-acp",
  "x-amz-write-offset-bytes",
  "x-amz-mfa",
];
/** Accepted values: they request behaviour that every object has. */
const ACCEPTED_HEADER_VALUES: Record<string, readonly string[]> = {
  "x-amz-acl": ["private", "bucket-owner-full-control"],
  "x-amz-server-side-encryption": ["AES256"],
  "x-amz-bucket-object-lock-enabled": ["false"],
};

/** Rejects headers that would otherwise be silently ignored. Throws headerNotImplemented. */
export function checkRequestHeaders(headers: Headers): void {
  const refuse = (header: string, value: string) =>
    s3Errors.headerNotImplemented({ header, value: value.slice(0, 100) });
  for (const header of UNSUPPORTED_HEADERS) {
    const value = headers.get(header);
    if (value !== null) throw refuse(header, value);
  }
  for (const [header, values] of Object.entries(ACCEPTED_HEADER_VALUES)) {
    const value = headers.get(header);
    if (value !== null && !values.includes(value)) throw refuse(header, value);
  }
}

/**
 * Returns the metadata that an upload sets. The encoding `aws-chunked` is removed: it applies to the request, not to
 * the object.
 */
export function s3MetadataOf(headers: Headers): ReturnType<typeof metadataFromHeaders> {
  const { httpMetadata, customMetadata } = metadataFromHeaders(headers);
  const { contentEncoding, ...otherMetadata } = httpMetadata;
  const encodings = contentEncoding
    ?.split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "" && word.toLowerCase() !== "aws-chunked");
  return {
    customMetadata,
    httpMetadata: { ...otherMetadata, ...(encodings?.length ? { contentEncoding: encodings.join(", ") } : {}) },
  };
}

/** Returns an integer query parameter. Throws invalidArgument. */
export function integerParameter(
  query: ReadonlyMap<string, string>,
  name: string,
  { min, max }: { min: number; max: number },
): number | undefined {
  const text = query.get(name);
  if (text === undefined || text === "") return undefined;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max))
    throw s3Errors.invalidArgument({
      problem: `${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text.slice(0, 50))}.`,
    });
  return value;
}
