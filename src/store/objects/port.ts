import type { Readable } from "node:stream";

/** Bytes under a name. Keys are '/'-separated words the platform made, never text a user chose. */
export interface ObjectStore {
  /** Visible whole or not at all; once resolved, on the disk (unless `durable: false`). Replaces what was there. */
  put(key: string, body: Uint8Array | AsyncIterable<Uint8Array>, options?: PutOptions): Promise<Stored>;
  open(key: string): Promise<ObjectHandle | undefined>;
  /** Absent keys are fine. */
  delete(keys: string[]): Promise<void>;
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
  /** Byte range, `end` inclusive; the whole object without one. Each call is an independent stream. */
  read(range?: { start: number; end?: number }): Readable;
  /** The whole object; for small ones. */
  bytes(): Promise<Buffer>;
}
