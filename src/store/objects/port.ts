import type { Readable } from "node:stream";

/** Bytes under a name. Keys are '/'-separated words the platform made, never text a user chose. */
export interface ObjectStore {
  /** Visible whole or not at all; once resolved, on the disk (unless `durable: false`). Replaces what was there. */
  put(key: string, body: Uint8Array | AsyncIterable<Uint8Array>, options?: PutOptions): Promise<Stored>;
  open(key: string): Promise<ObjectHandle | undefined>;
  /** Another name for the same bytes, on the disk when resolved; each name is deleted for itself. Replaces what was there. Throws StoreError absent. */
  copy(from: string, to: string): Promise<void>;
  /** Where a program that is no part of ours finds the bytes, to read only: the path of a file, valid while the object is. Undefined when absent. */
  file(key: string): Promise<string | undefined>;
  /** An object that grows over many requests and process lives, and is one under its key when it is completed. */
  partial(key: string): PartialObject;
  /** Absent keys are fine. */
  delete(keys: string[]): Promise<void>;
  /** Removes empty folders below `prefix`, which ends with "/", including the folder itself. No-op for stores without folders. */
  removeEmptyFolders(prefix: string): Promise<void>;
  /** In key order, starting after `after`. */
  list(prefix: string, after?: string): AsyncIterable<{ key: string; size: number; modified: Date }>;
}

export interface PutOptions {
  /** Default true: the bytes and their name survive a power cut. */
  durable?: boolean;
  /** Refuse (StoreError tooLarge) and leave nothing behind when the body exceeds this many bytes. */
  maxBytes?: number;
  /** More digests to compute on the way through, beside sha256 (which is always there). */
  digests?: ("md5" | "sha1" | "sha384" | "sha512")[];
}

export interface Stored {
  size: number;
  /** Lowercase hex. */
  sha256: string;
  digests: Record<string, string>;
}

export interface ObjectHandle {
  readonly size: number;
  /** Another one whenever the bytes are others; for ETag. Absent where that cannot be told. */
  readonly version?: string;
  /** Byte range, `end` inclusive; the whole object without one. Each call is an independent stream. */
  read(range?: { start: number; end?: number }): Readable;
  /** The whole object; for small ones. */
  bytes(): Promise<Buffer>;
  /** For who sends much: reads into memory that the caller has already. Absent where there are only streams. */
  reader?(): ObjectReader;
}

export interface ObjectReader {
  /** Puts bytes from `position` on into the beginning of `into`; how many, at least one: at once where they are in memory. Throws or rejects past the end. */
  read(into: Buffer, position: number): number | Promise<number>;
  /** To be called once, when no read is under way. */
  close(): void;
}

/**
 * What is there of an object so far: kept beside the objects, seen by nobody, across crashes and restarts. Who writes it sees to it that
 * nobody else does; two who write the same bytes do no harm.
 */
export interface PartialObject {
  /** Octets on the disk, so far; 0 where there is nothing, or where it was completed. */
  size(): Promise<number>;
  /**
   * Goes on at `offset`, which is `size()`, and resolves with the size when everything is on the disk. A source that fails, or a full disk, passes
   * its error on; what came before is kept, and on the disk then. Throws StoreError badOffset, diskFull.
   */
  append(offset: number, body: AsyncIterable<Uint8Array>): Promise<number>;
  /** Visible whole under its key, which has `size` octets, and on the disk; once more does nothing. Throws StoreError badOffset, absent. */
  complete(size: number): Promise<void>;
  /** Of what is not completed nothing is left. */
  discard(): Promise<void>;
}
