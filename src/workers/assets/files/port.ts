import type { Readable } from "node:stream";

/** The files of one site by path: stored ones of a version, or a folder during development. */
export interface AssetFiles {
  /** `path` is decoded and begins with "/". */
  find(path: string): AssetFile | undefined;
  /** Characters of the longest path. */
  longestPath(): number;
}

export interface AssetFile {
  /** Identifies the content; 32 hexadecimal digits. */
  etag: string;
  /** Bytes. */
  size: number;
  /** Undefined: the response has no Content-Type. */
  contentType: string | undefined;
  /** Opens the content. `end` is inclusive. Undefined if it no longer exists. */
  open(range?: { start: number; end: number }): Promise<Readable | undefined>;
}
