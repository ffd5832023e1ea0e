import type { Readable } from "node:stream";

/** The files of a site by path: stored files of a version, or a directory during development. */
export interface AssetFiles {
  /** Finds the file at `path`, which is percent-decoded and begins with "/". */
  find(path: string): AssetFile | undefined;
  /** Length of the longest path in characters. */
  maxPathLength(): number;
}

export interface AssetFile {
  /** Identifies the content; 32 hexadecimal digits. */
  etag: string;
  /** In bytes. */
  size: number;
  /** Undefined if the response has no Content-Type. */
  contentType: string | undefined;
  /** Opens the content. `end` is inclusive. Resolves with undefined if the content no longer exists. */
  open(range?: { start: number; end: number }): Promise<Readable | undefined>;
}
