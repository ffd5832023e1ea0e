import type { R2Object, StorageClass } from "../bindings/r2/index.ts";
import { metadataFromHeaders } from "../bindings/r2/index.ts";
import { s3Errors } from "./errors.ts";

const STORAGE: Record<StorageClass, string> = { Standard: "STANDARD", InfrequentAccess: "STANDARD_IA" };

export const s3StorageClass = (storageClass: StorageClass): string => STORAGE[storageClass];

/** Throws invalidStorageClass. */
export function storageClassOf(headers: Headers): StorageClass | undefined {
  const wanted = headers.get("x-amz-storage-class");
  if (wanted === null || wanted === "") return undefined;
  if (wanted === "STANDARD") return "Standard";
  if (wanted === "STANDARD_IA") return "InfrequentAccess";
  throw s3Errors.invalidStorageClass({ storageClass: JSON.stringify(wanted.slice(0, 100)) });
}

/** The headers of an object in the names of S3. */
export function s3ObjectHeaders(headers: Headers, object: R2Object): Headers {
  headers.delete("cf-r2-storage-class");
  headers.set("x-amz-storage-class", s3StorageClass(object.storageClass));
  return headers;
}

const REFUSED = [
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
/** Values that name the behaviour that objects have anyway. */
const ACCEPTED: Record<string, readonly string[]> = {
  "x-amz-acl": ["private", "bucket-owner-full-control"],
  "x-amz-server-side-encryption": ["AES256"],
  "x-amz-bucket-object-lock-enabled": ["false"],
};

/** Rejects headers that would otherwise silently have no effect. Throws headerNotImplemented. */
export function checkHeaders(headers: Headers): void {
  const refuse = (header: string, value: string) =>
    s3Errors.headerNotImplemented({ header, value: value.slice(0, 100) });
  for (const header of REFUSED) {
    const value = headers.get(header);
    if (value !== null) throw refuse(header, value);
  }
  for (const [header, values] of Object.entries(ACCEPTED)) {
    const value = headers.get(header);
    if (value !== null && !values.includes(value)) throw refuse(header, value);
  }
}

/** The metadata that an upload sets. `aws-chunked` describes the request, not the object. */
export function s3MetadataOf(headers: Headers): ReturnType<typeof metadataFromHeaders> {
  const { httpMetadata, customMetadata } = metadataFromHeaders(headers);
  const { contentEncoding, ...others } = httpMetadata;
  const encodings = contentEncoding
    ?.split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "" && word.toLowerCase() !== "aws-chunked");
  return {
    customMetadata,
    httpMetadata: { ...others, ...(encodings?.length ? { contentEncoding: encodings.join(", ") } : {}) },
  };
}

/** A whole number in the query. Throws invalidArgument. */
export function numberOf(
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
