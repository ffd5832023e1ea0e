/** Collects chunks until they are needed as one buffer. */
interface Chunks {
  readonly length: number;
  push(chunk: Uint8Array): void;
  /** Returns all bytes so far, or the first `length`, as one buffer; afterwards the collection is empty. */
  take(length?: number): Buffer;
  /** Returns all chunks so far without copying; afterwards the collection is empty. */
  takeChunks(): Uint8Array[];
}

const BLOCK = 16 * 1024;
const SMALL = 2 * 1024;

/** Small chunks are merged: otherwise a peer that sends single bytes would create an object for each. */
export function createChunks(): Chunks {
  let pieces: Uint8Array[] = [];
  let block: Buffer | undefined;
  let used = 0;
  let length = 0;

  function closeBlock() {
    if (block !== undefined && used > 0) pieces.push(block.subarray(0, used));
    block = undefined;
    used = 0;
  }

  function takeChunks() {
    closeBlock();
    const taken = pieces;
    pieces = [];
    length = 0;
    return taken;
  }

  return {
    get length() {
      return length;
    },
    push(chunk) {
      length += chunk.length;
      if (chunk.length >= SMALL) {
        closeBlock();
        pieces.push(chunk);
        return;
      }
      if (block !== undefined && used + chunk.length > BLOCK) closeBlock();
      block ??= Buffer.allocUnsafeSlow(BLOCK);
      block.set(chunk, used);
      used += chunk.length;
    },
    take: (wanted = length) => Buffer.concat(takeChunks(), wanted),
    takeChunks,
  };
}
