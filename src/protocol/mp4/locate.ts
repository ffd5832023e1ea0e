import { boxAt, Mp4Error } from "./boxes.ts";

/** Octets of a file from `start` on: `length` of them, fewer only at its end. */
export type ReadAt = (start: number, length: number) => Promise<Buffer>;

export interface LocateOptions {
  /** Largest index that is read, in octets. Ten hours of 60 frames a second with 50 packets of sound need about 60 MiB. */
  maxMovieBytes?: number;
  /** A file that ends too early behind its index is no error: who reads on has to look whether a sample is there. Default false. */
  mayBeCutOff?: boolean;
}

export interface Located {
  /** The box moov, whole. */
  movie: Buffer;
  /** The file goes on in fragments (moof) beside, or instead of, what the index knows. */
  fragmented: boolean;
}

const DEFAULT_MAX_MOVIE = 96 * 1024 * 1024;
/** The first boxes and, in files that are made for streaming, the index itself as a rule. */
const FIRST_READ = 64 * 1024;
const MOST_TOP_BOXES = 512;

/** Finds the index of a file by its headers, wherever it lies, and reads nothing else. Throws Mp4Error. */
export async function locateMovie(
  read: ReadAt,
  size: number,
  { maxMovieBytes = DEFAULT_MAX_MOVIE, mayBeCutOff = false }: LocateOptions = {},
): Promise<Located> {
  const head = await read(0, Math.min(size, FIRST_READ));
  const headerAt = async (at: number) =>
    at + 16 <= head.length ? head.subarray(at, at + 16) : read(at, Math.min(16, size - at));
  let movie: Buffer | undefined;
  let fragmented = false;
  let at = 0;
  for (let count = 0; at + 8 <= size; count++) {
    if (count >= MOST_TOP_BOXES) {
      // A fragmented file of some length has thousands; what was to be learned of it is known by then.
      if (fragmented) break;
      throw new Mp4Error(`the file has more than ${MOST_TOP_BOXES} boxes at its top`);
    }
    const box = topBox(await headerAt(at), at, mayBeCutOff && movie !== undefined ? Infinity : size);
    if (box.type === "moof") fragmented = true;
    if (box.type === "moov") {
      if (movie !== undefined) throw new Mp4Error("the file has two indexes");
      if (box.size > maxMovieBytes)
        throw new Mp4Error(`the index has ${box.size} octets, at most ${maxMovieBytes} are read`);
      movie = at + box.size <= head.length ? head.subarray(at, at + box.size) : await read(at, box.size);
      if (movie.length !== box.size) throw new Mp4Error("the index is cut off");
    }
    if (box.size === 0) break;
    at += box.size;
  }
  if (movie === undefined) throw new Mp4Error("the file has no index (moov)");
  return { movie, fragmented };
}

function topBox(header: Buffer, at: number, limit: number): { type: string; size: number } {
  // The header stands alone here: its box reaches beyond the bytes at hand.
  const box = boxAt(header, 0, limit - at);
  return { type: box.type, size: box.end };
}
