import type { Readable } from "node:stream";

/** The metadata of a stored object. */
export interface R2Object {
  key: string;
  /** 32 lowercase hex digits, new for every write of the key. */
  version: string;
  /** Bytes. */
  size: number;
  /** Without quotes: the MD5 in hex, or `<MD5 of the parts' MD5s>-<number of parts>` for a multipart object. */
  etag: string;
  uploaded: Date;
  httpMetadata: HttpMetadata;
  customMetadata: Record<string, string>;
  storageClass: StorageClass;
  /** Lowercase hex. MD5 is present except for multipart objects; the other checksums if the writer sent them. */
  checksums: Checksums;
}

export interface HttpMetadata {
  contentType?: string;
  contentLanguage?: string;
  contentDisposition?: string;
  contentEncoding?: string;
  cacheControl?: string;
  cacheExpiry?: Date;
}

export type StorageClass = "Standard" | "InfrequentAccess";

export type Checksums = Partial<Record<ChecksumAlgorithm, string>>;
export type ChecksumAlgorithm = "md5" | "sha1" | "sha256" | "sha384" | "sha512";

export type Etag = { type: "strong" | "weak"; value: string } | { type: "wildcard" };

/** All given conditions must hold; see `holds()` for how they combine. */
export interface Conditions {
  etagMatches?: Etag[];
  etagDoesNotMatch?: Etag[];
  uploadedBefore?: Date;
  uploadedAfter?: Date;
  /** Compares times in whole seconds, like HTTP dates. */
  secondsGranularity?: boolean;
}

/** `header` is the value of a Range header (RFC 9110 14.2). */
export type WantedRange = { offset?: number; length?: number } | { suffix: number } | { header: string };

export interface ObjectRange {
  offset: number;
  length: number;
}

export type ObjectBody = Uint8Array | AsyncIterable<Uint8Array>;

export interface Metadata {
  httpMetadata?: HttpMetadata;
  customMetadata?: Record<string, string>;
  storageClass?: StorageClass;
}

export interface R2PutOptions extends Metadata {
  onlyIf?: Conditions;
  /** Expected checksums of the bytes, in hex. */
  checksums?: Checksums;
  /** Expected number of bytes of the body. */
  size?: number;
  /** The source of a copy, for event notifications. */
  copiedFrom?: { bucket: string; key: string };
}

export interface GetOptions {
  onlyIf?: Conditions;
  range?: WantedRange;
}

export interface FoundObject {
  object: R2Object;
  range: ObjectRange;
  /**
   * Absent if `onlyIf` did not hold. Read it to the end or destroy it: until then the bytes of this version are kept.
   */
  body?: Readable;
}

export interface ListOptions {
  prefix?: string;
  /** Keys that contain it after the prefix are grouped into one entry of `delimitedPrefixes`. */
  delimiter?: string;
  /** 1 to 1000; default 1000. Counts objects and prefixes. */
  limit?: number;
  cursor?: string;
  startAfter?: string;
  include?: ("httpMetadata" | "customMetadata")[];
}

export type ListedObject = Omit<R2Object, "httpMetadata" | "customMetadata"> &
  Partial<Pick<R2Object, "httpMetadata" | "customMetadata">>;

export interface ObjectPage {
  /** In the byte order of their keys. A page that is not the last may have fewer than `limit`: rely on `cursor`. */
  objects: ListedObject[];
  delimitedPrefixes: string[];
  /** Present if there are more pages. */
  cursor?: string;
}

/** A committed change to one or more objects. */
export interface R2Change {
  action: "PutObject" | "CopyObject" | "CompleteMultipartUpload" | "DeleteObject" | "LifecycleDeletion";
  /** The bucket name used with R2Buckets. */
  bucket: string;
  /** For deletions, only the keys. */
  objects: { key: string; size?: number; etag?: string }[];
  copiedFrom?: { bucket: string; key: string };
}

export interface UploadListOptions {
  prefix?: string;
  /** Lists uploads after this key; with `afterUpload`, also the later uploads of this key. */
  afterKey?: string;
  afterUpload?: string;
  /** 1 to 1000; default 1000. */
  limit?: number;
}

/** An open multipart upload. */
export interface OpenUpload extends UploadRef {
  createdAt: Date;
  storageClass: StorageClass;
}

export interface StoredPart extends UploadedPart {
  size: number;
  /** Undefined for parts that were uploaded before this time was recorded. */
  uploaded: Date | undefined;
}

export interface UploadRef {
  key: string;
  uploadId: string;
}

export interface UploadedPart {
  partNumber: number;
  etag: string;
}
