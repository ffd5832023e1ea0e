import { Mp4Error } from "./boxes.ts";

/** Pieces of a fragmented file as an encoder writes it: first `init` (ftyp and moov), then fragments (moof and mdat). */
interface Mp4Segment {
  kind: "init" | "fragment";
  bytes: Buffer;
}

interface Mp4SegmentReader {
  /** Returns the complete pieces. Throws Mp4Error. */
  push(chunk: Buffer): Mp4Segment[];
  /** Number of octets of the incomplete piece. */
  readonly pendingOctets: number;
}

/** Maximum size of a piece: many times the size of a segment at the highest bit rate. */
const MAX_BYTES = 256 * 1024 * 1024;

/** Splits input chunks of any size into pieces. */
export function createMp4SegmentReader(maxBytes = MAX_BYTES): Mp4SegmentReader {
  let chunks: Buffer[] = [];
  let size = 0;
  /** Number of octets of the current piece in boxes known to be complete. */
  let seenBytes = 0;
  let neededBytes = 8;

  function takeSegment(end: number, kind: Mp4Segment["kind"]): Mp4Segment {
    const bufferedBytes = Buffer.concat(chunks);
    chunks = end < bufferedBytes.length ? [bufferedBytes.subarray(end)] : [];
    size = bufferedBytes.length - end;
    seenBytes = 0;
    neededBytes = 8;
    return { kind, bytes: bufferedBytes.subarray(0, end) };
  }

  /** Returns the box header at `seenBytes`; undefined if it has not arrived yet. */
  function peekBox(): { type: string; end: number } | undefined {
    if (size < seenBytes + 8) return undefined;
    if (chunks.length > 1) chunks = [Buffer.concat(chunks)];
    const [bytes] = chunks as [Buffer];
    const length = bytes.readUInt32BE(seenBytes);
    if (length < 8) throw new Mp4Error(`the encoder wrote a box of invalid size: ${length} octets`);
    return { type: bytes.toString("latin1", seenBytes + 4, seenBytes + 8), end: seenBytes + length };
  }

  return {
    push(chunk) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) throw new Mp4Error(`the encoder wrote a segment of more than ${maxBytes} octets`);
      const pieces: Mp4Segment[] = [];
      while (size >= neededBytes) {
        const box = peekBox();
        if (box === undefined) break;
        neededBytes = box.end;
        if (size < neededBytes) break;
        if (box.type === "moov" || box.type === "mdat")
          pieces.push(takeSegment(box.end, box.type === "moov" ? "init" : "fragment"));
        else {
          seenBytes = box.end;
          neededBytes = seenBytes + 8;
        }
      }
      return pieces;
    },
    get pendingOctets() {
      return size;
    },
  };
}
