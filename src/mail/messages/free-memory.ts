/**
 * Frees the memory of chunks immediately. They are empty afterwards, so no other code may use them. A chunk that shares
 * its memory (a slice, a part of Node's pool) is left to the garbage collector.
 *
 * If all chunks were left to the collector, they would accumulate: to V8 each is a small object with 64 KiB outside the
 * heap, which does not trigger a quick collection, and at about 25 MiB of them it marks the whole heap, on several
 * threads. On average every message of that size triggered one such collection and took twice as long.
 */
export function freeMemory(chunks: readonly Uint8Array[]): void {
  for (const { buffer, byteLength } of chunks) {
    if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) buffer.transfer(0);
  }
}
