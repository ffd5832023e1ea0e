import { Mp4Error } from "./boxes.ts";

/** A fragmented file as an encoder writes it: first `init` (ftyp and moov), then a fragment (moof and mdat) for each segment. */
interface Piece {
  kind: "init" | "fragment";
  bytes: Buffer;
}

interface PieceReader {
  /** The pieces that are whole by now. Throws Mp4Error. */
  push(chunk: Buffer): Piece[];
  /** Octets of a piece that is not whole. */
  readonly left: number;
}

/** Many times a segment of the highest rate. */
const MOST_BYTES = 256 * 1024 * 1024;

/** Cuts what comes in chunks of any size into pieces. */
export function createPieceReader(mostBytes = MOST_BYTES): PieceReader {
  let chunks: Buffer[] = [];
  let size = 0;
  /** Of the boxes of a piece that are known to be whole. */
  let seen = 0;
  let needed = 8;

  function take(end: number, kind: Piece["kind"]): Piece {
    const all = Buffer.concat(chunks);
    chunks = end < all.length ? [all.subarray(end)] : [];
    size = all.length - end;
    seen = 0;
    needed = 8;
    return { kind, bytes: all.subarray(0, end) };
  }

  /** The header of the box at `seen`; undefined where it has not come yet. */
  function boxHere(): { type: string; end: number } | undefined {
    if (size < seen + 8) return undefined;
    if (chunks.length > 1) chunks = [Buffer.concat(chunks)];
    const [bytes] = chunks as [Buffer];
    const length = bytes.readUInt32BE(seen);
    if (length < 8) throw new Mp4Error(`the encoder wrote a box of ${length} octets`);
    return { type: bytes.toString("latin1", seen + 4, seen + 8), end: seen + length };
  }

  return {
    push(chunk) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > mostBytes) throw new Mp4Error(`the encoder wrote a segment of more than ${mostBytes} octets`);
      const pieces: Piece[] = [];
      while (size >= needed) {
        const box = boxHere();
        if (box === undefined) break;
        needed = box.end;
        if (size < needed) break;
        if (box.type === "moov" || box.type === "mdat")
          pieces.push(take(box.end, box.type === "moov" ? "init" : "fragment"));
        else {
          seen = box.end;
          needed = seen + 8;
        }
      }
      return pieces;
    },
    get left() {
      return size;
    },
  };
}
