import type { Readable } from "node:stream";

/** Bytes under a key. Keys are '/'-separated segments created by the platform, never user text. */
export interface ObjectStore {
  /** Atomic; on disk when resolved (unless `durable: false`). Replaces an existing object. */
  put(key: string, body: Uint8Array | AsyncIterable<Uint8Array>, options?: PutOptions): Promise<Stored>;
  open(key: string): Promise<ObjectHandle | undefined>;
  /**
   * Another key for the same bytes, on disk when resolved; each key is deleted separately. Replaces an existing object.
   * Throws StoreError absent.
   */
  copy(from: string, to: string): Promise<void>;
  /** A file path for reading by other programs, valid while the object exists. Undefined if missing. */
  file(key: string): Promise<string | undefined>;
  /** An object that grows over many requests and restarts, and appears under its key when completed. */
  partial(key: string): PartialObject;
  /** Missing keys are fine. */
  delete(keys: string[]): Promise<void>;
  /** Removes empty folders below `prefix`, which ends with "/", including the folder itself. No-op for stores without folders. */
  removeEmptyFolders(prefix: string): Promise<void>;
  /** In key order, starting after `after`. */
  list(prefix: string, after?: string): AsyncIterable<{ key: string; size: number; modified: Date }>;
}

export interface PutOptions {
  /** Default true: bytes and name survive a power failure. */
  durable?: boolean;
  /** Reject (StoreError tooLarge) and leave nothing if the body exceeds this size. */
  maxBytes?: number;
  /** Additional digests besides sha256. */
  digests?: ("md5" | "sha1" | "sha384" | "sha512")[];
}

export interface Stored {
  size: number;
  /** Lower-case hex. */
  sha256: string;
  digests: Record<string, string>;
}

export interface ObjectHandle {
  readonly size: number;
  /** Changes whenever the bytes change; for ETag. Absent if unknown. */
  readonly version?: string;
  /** Byte range, `end` inclusive; default the whole object. Each call is an independent stream. */
  read(range?: { start: number; end?: number }): Readable;
  /** The whole object; for small ones. */
  bytes(): Promise<Buffer>;
  /** For high throughput: reads into the caller's memory. Absent if the driver has streams only. */
  reader?(): ObjectReader;
}

export interface ObjectReader {
  /**
   * Reads from `position` into the beginning of `into`; returns the number of bytes, at least one; synchronous if
   * cached. Throws or rejects past the end.
   */
  read(into: Buffer, position: number): number | Promise<number>;
  /** Call it once, when no read is pending. */
  close(): void;
}

/**
 * A growing object: stored separately, invisible, and surviving crashes. The caller ensures a single writer; two
 * writers of the same bytes do no harm.
 */
export interface PartialObject {
  /** Octets on disk; 0 if there are none or if it was completed. */
  size(): Promise<number>;
  /**
   * Appends at `offset`, which must be `size()`, and resolves with the new size once it is on disk. An error of the
   * source or a full disk is passed on; earlier data is kept and on disk. Throws StoreError badOffset, diskFull.
   */
  append(offset: number, body: AsyncIterable<Uint8Array>): Promise<number>;
  /**
   * Publishes the object under its key with `size` octets, on disk; idempotent. Throws StoreError badOffset, absent.
   */
  complete(size: number): Promise<void>;
  /** Deletes an incomplete object. */
  discard(): Promise<void>;
}
