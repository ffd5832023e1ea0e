import { r2Errors } from "./errors.ts";
import type { HttpMetadata, Metadata } from "./object.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

/** The service's documented limits; a caller of createR2Buckets() may change individual ones. */
export const defaultLimits = {
  keyBytes: 1024,
  customMetadataBytes: 8 * KiB,
  /** Not documented; HTTP servers accept headers up to this size. */
  httpMetadataBytes: 8 * KiB,
  /** One put or one part: 5 GiB minus 5 MiB. */
  uploadBytes: 5 * GiB - 5 * MiB,
  /** A multipart object: 5 TiB minus 5 GiB. */
  objectBytes: 5 * 1024 * GiB - 5 * GiB,
  /** For every part except the last. */
  minimumPartBytes: 5 * MiB,
  parts: 10_000,
  listKeys: 1000,
  deleteKeys: 1000,
  /** One page of a list as JSON. workerd rejects more than 1 MiB. */
  pageBytes: 768 * KiB,
  /** The sweep aborts an upload after 7 days if it is neither completed nor aborted. */
  uploadLifetimeMs: 7 * 24 * 3600 * 1000,
};

export type R2Limits = typeof defaultLimits;

export function checkBucket(name: string): void {
  if (!/^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/.test(name)) throw r2Errors.invalidBucketName();
}

/** U+0000 is rejected because PostgreSQL cannot store it in text, a lone surrogate because UTF-8 cannot. */
export function checkObjectName(key: string, limits: R2Limits): void {
  if (Buffer.byteLength(key) > limits.keyBytes || key.includes("\0") || !key.isWellFormed())
    throw r2Errors.invalidObjectName();
}

export function checkObjectMetadata(
  { httpMetadata = {}, customMetadata = {}, storageClass = "Standard" }: Metadata,
  limits: R2Limits,
): void {
  const custom = Object.entries(customMetadata).reduce(
    (sum, [name, value]) => sum + metadataLength(name) + metadataLength(value),
    0,
  );
  if (custom > limits.customMetadataBytes || httpMetadataLength(httpMetadata) > limits.httpMetadataBytes)
    throw r2Errors.metadataTooLarge();
  if (storageClass !== "Standard" && storageClass !== "InfrequentAccess")
    throw r2Errors.invalidArgument({
      problem: `The storage class ${String(storageClass)} is not valid: use Standard or InfrequentAccess.`,
    });
}

/**
 * Counts length as the service does: a text within Latin-1 takes one byte per character, any other text two bytes per
 * UTF-16 code unit.
 */
// oxlint-disable-next-line no-control-regex
const metadataLength = (text: string) => (/^[\0-\u00ff]*$/.test(text) ? text.length : text.length * 2);

const httpMetadataLength = (metadata: HttpMetadata) =>
  Object.values(metadata).reduce((sum, value) => sum + (typeof value === "string" ? Buffer.byteLength(value) : 0), 0);
