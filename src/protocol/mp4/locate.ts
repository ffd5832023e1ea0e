import { boxAt, Mp4Error } from "./boxes.ts";

/** Reads `length` octets of a file from `start`; returns fewer only at the end of the file. */
export type ReadAt = (start: number, length: number) => Promise<Buffer>;

interface LocateOptions {
  /**
   * Maximum size of the index in octets. Ten hours of video with 60 frames and 50 audio packets per second need about
   * 60 MiB.
   */
  maxMovieBytes?: number;
  /**
   * Accepts a file truncated after its index, in which case the caller must check that each sample exists. Default
   * false.
   */
  allowTruncated?: boolean;
}

interface Located {
  /** The complete moov box. */
  movie: Buffer;
  /** The file has fragments (moof) in addition to, or instead of, the samples in the index. */
  fragmented: boolean;
}

const DEFAULT_MAX_MOVIE_BYTES = 96 * 1024 * 1024;
/** Contains the first boxes and, in files created for streaming, usually the index. */
const FIRST_READ_BYTES = 64 * 1024;
const MAX_TOP_BOXES = 512;

/**
 * Finds the index of a file, regardless of its position, by following box headers, and reads nothing else. Throws
 * Mp4Error.
 */
export async function locateMovie(
  read: ReadAt,
  size: number,
  { maxMovieBytes = DEFAULT_MAX_MOVIE_BYTES, allowTruncated = false }: LocateOptions = {},
): Promise<Located> {
  const head = await read(0, Math.min(size, FIRST_READ_BYTES));
  const headerAt = async (at: number) =>
    at + 16 <= head.length ? head.subarray(at, at + 16) : read(at, Math.min(16, size - at));
  let movie: Buffer | undefined;
  let isFragmented = false;
  let at = 0;
  for (let count = 0; at + 8 <= size; count++) {
    if (count >= MAX_TOP_BOXES) {
      // A long fragmented file has thousands of boxes, but the required ones have been found by this point.
      if (isFragmented) break;
      throw new Mp4Error(`the file has more than ${MAX_TOP_BOXES} top-level boxes`);
    }
    const box = readTopBox(await headerAt(at), at, allowTruncated && movie !== undefined ? Infinity : size);
    if (box.type === "moof") isFragmented = true;
    if (box.type === "moov") {
      if (movie !== undefined) throw new Mp4Error("the file has more than one moov box");
      if (box.size > maxMovieBytes)
        throw new Mp4Error(`the moov box has ${box.size} octets; at most ${maxMovieBytes} are supported`);
      movie = at + box.size <= head.length ? head.subarray(at, at + box.size) : await read(at, box.size);
      if (movie.length !== box.size) throw new Mp4Error("the moov box is truncated");
    }
    if (box.size === 0) break;
    at += box.size;
  }
  if (movie === undefined) throw new Mp4Error("the file has no moov box");
  return { movie, fragmented: isFragmented };
}

function readTopBox(header: Buffer, at: number, limit: number): { type: string; size: number } {
  // Only the header has been read: the box extends beyond these bytes.
  const box = boxAt(header, 0, limit - at);
  return { type: box.type, size: box.end };
}
