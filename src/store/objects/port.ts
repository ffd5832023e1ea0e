import type { Readable } from "node:stream";

/** Bytes stored under keys. Keys are '/'-separated segments created by the platform, never user text. */
export interface ObjectStore {
  /** Atomic; the object is on disk when resolved (unless `durable: false`). Replaces an existing object. */
  put(key: string, body: Uint8Array | AsyncIterable<Uint8Array>, options?: PutOptions): Promise<StoredObject>;
  /**
   * Stores the bytes of a file, which must not change; the caller may delete the file afterwards. Uses a hard link if
   * the store is a folder on the same file system. Atomic and durable like put(). Rejects if the file is missing.
   */
  putFile(key: string, path: string, options?: Pick<PutOptions, "durable">): Promise<void>;
  open(key: string): Promise<ObjectHandle | undefined>;
  /**
   * Adds another key for the same bytes, on disk when resolved; each key is deleted separately. Replaces an existing
   * object. Throws StoreError absent.
   */
  copy(from: string, to: string): Promise<void>;
  /** Returns a file with the bytes of the object, for other programs to read. Undefined if the object is missing. */
  leaseFile(key: string): Promise<FileLease | undefined>;
  /** Returns an object that grows over many requests and restarts, and becomes visible under its key when completed. */
  partial(key: string): PartialObject;
  /** Missing keys are ignored. */
  delete(keys: string[]): Promise<void>;
  /**
   * Removes empty folders under `prefix`, which ends with "/", including the folder itself. No-op for stores without
   * folders.
   */
  removeEmptyFolders(prefix: string): Promise<void>;
  /** In key order, starting after `after`. */
  list(prefix: string, after?: string): AsyncIterable<{ key: string; size: number; modified: Date }>;
}

/** Release it in `finally`: a remote store keeps the file on the local disk until then. */
export interface FileLease {
  /**
   * Readable until release(). With a remote store, even if the object is replaced or deleted. With a folder, this is
   * the path of the object itself: a program that has opened it can still read the same bytes after a deletion, but the
   * path can no longer be opened.
   */
  readonly path: string;
  /** Idempotent. */
  release(): void;
}

export interface PutOptions {
  /** Default true: bytes and name survive a power failure. */
  durable?: boolean;
  /** Rejects (StoreError tooLarge) and leaves nothing behind if the body exceeds this size. */
  maxBytes?: number;
  /**
   * Stores nothing if the key already has an object. Default false. On a server without conditional writes, one of two
   * concurrent puts may replace the other.
   */
  ifAbsent?: boolean;
  /** Additional digests besides sha256. */
  digests?: ("md5" | "sha1" | "sha384" | "sha512")[];
}

export interface StoredObject {
  size: number;
  /** Lower-case hex. */
  sha256: string;
  digests: Record<string, string>;
  /**
   * With `ifAbsent`: the object already existed, and may have different bytes. Size and digests are those of the body.
   */
  isExisting?: true;
  /** See `version` of `ObjectHandle`; set if the driver knows it without another request. */
  version?: string;
}

export interface ObjectHandle {
  readonly size: number;
  /** Changes whenever the bytes change; for ETag. Absent if unknown. */
  readonly version?: string;
  /** Byte range, `end` inclusive; default the whole object. Each call is an independent stream. */
  read(range?: { start: number; end?: number }): Readable;
  /** Reads the whole object; for small objects. */
  bytes(): Promise<Buffer>;
  /**
   * For high throughput: reads into the caller's memory. Absent if the driver only supports streams. Throws StoreError
   * objectChanged, like its reads, unless the bytes are still those of the opened object.
   */
  reader?(): ObjectReader;
}

export interface ObjectReader {
  /**
   * Reads from `position` into the beginning of `into`; returns the number of bytes, at least one. Synchronous if the
   * data is cached. Throws or rejects past the end.
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
  /** Resolves with the number of bytes on disk; 0 if nothing has been written or the object has been completed. */
  size(): Promise<number>;
  /**
   * Appends at `offset`, which must equal `size()`, and resolves with the new size once it is on disk. Errors of the
   * source and a full disk are passed on; earlier data remains on disk. The source must not reuse the buffer of a chunk.
   * Throws StoreError badOffset, diskFull.
   */
  append(offset: number, body: AsyncIterable<Uint8Array>): Promise<number>;
  /** Publishes the object under its key with `size` bytes, on disk; idempotent. Throws StoreError badOffset, absent. */
  complete(size: number): Promise<void>;
  /** Deletes an incomplete object. */
  discard(): Promise<void>;
}
