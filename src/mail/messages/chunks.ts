/** Collects chunks until they are needed as one buffer. */
interface Chunks {
  /** Returns the number of bytes so far. */
  byteLength(): number;
  push(chunk: Uint8Array): void;
  /** Returns all bytes so far, or the first `length`, as one buffer; afterwards the collection is empty. */
  take(length?: number): Buffer;
  /** Returns all chunks so far without copying; afterwards the collection is empty. */
  takeChunks(): Uint8Array[];
}

const BLOCK_BYTES = 16 * 1024;
const SMALL_BYTES = 2 * 1024;

/** Small chunks are merged: otherwise a peer that sends single bytes would create an object for each. */
export function createChunks(): Chunks {
  let pieces: Uint8Array[] = [];
  let block: Buffer | undefined;
  let usedBytes = 0;
  let length = 0;

  function closeBlock() {
    if (block !== undefined && usedBytes > 0) pieces.push(block.subarray(0, usedBytes));
    block = undefined;
    usedBytes = 0;
  }

  function takeChunks() {
    closeBlock();
    const takenPieces = pieces;
    pieces = [];
    length = 0;
    return takenPieces;
  }

  return {
    byteLength: () => length,
    push(chunk) {
      length += chunk.length;
      if (chunk.length >= SMALL_BYTES) {
        closeBlock();
        pieces.push(chunk);
        return;
      }
      if (block !== undefined && usedBytes + chunk.length > BLOCK_BYTES) closeBlock();
      block ??= Buffer.allocUnsafeSlow(BLOCK_BYTES);
      block.set(chunk, usedBytes);
      usedBytes += chunk.length;
    },
    take: (byteCount = length) => Buffer.concat(takeChunks(), byteCount),
    takeChunks,
  };
}
