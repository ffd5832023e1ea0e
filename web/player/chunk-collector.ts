/** Collects a response piece by piece. */
interface ChunkCollector {
  /** Returns the CMAF chunks that this piece completes, if any. */
  add(piece: Uint8Array): ArrayBuffer | undefined;
  /** Returns the data after the last complete chunk, if any. */
  rest(): ArrayBuffer | undefined;
}

const MDAT = 0x6d64_6174;
/** A box header with a size of 64 bits (ISO 14496-12, 4.2.2). */
const HEADER_BYTES = 16;

/** Copies each octet once or twice, however large the chunks and however small the pieces are. */
export function createChunkCollector(): ChunkCollector {
  let pieces: Uint8Array[] = [];
  let size = 0;
  /** Start of the first box that is not complete. */
  let nextBox = 0;

  /** Returns the first octets from `start`, at most `length`. */
  function read(start: number, length: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(Math.min(length, size - start));
    let offset = -start;
    for (const piece of pieces) {
      const from = Math.max(0, -offset);
      const to = Math.min(piece.length, bytes.length - offset);
      if (from < to) bytes.set(piece.subarray(from, to), offset + from);
      offset += piece.length;
    }
    return bytes;
  }

  /** Returns the end of the last complete chunk. */
  function findChunkEnd(): number {
    let end = 0;
    while (size - nextBox >= HEADER_BYTES) {
      const header = new DataView(read(nextBox, HEADER_BYTES).buffer);
      const shortSize = header.getUint32(0);
      const boxSize = shortSize === 1 ? Number(header.getBigUint64(8)) : shortSize;
      // 0: the box extends to the end of the response.
      if (boxSize < 8 || nextBox + boxSize > size) break;
      nextBox += boxSize;
      if (header.getUint32(4) === MDAT) end = nextBox;
    }
    return end;
  }

  return {
    add(piece) {
      pieces.push(piece);
      size += piece.length;
      const end = findChunkEnd();
      if (end === 0) return undefined;
      const chunks = read(0, end);
      pieces = [read(end, size - end)];
      size -= end;
      nextBox -= end;
      return chunks.buffer;
    },
    rest: () => (size === 0 ? undefined : read(0, size).buffer),
  };
}
