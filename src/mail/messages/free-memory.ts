/**
 * Gives the memory of chunks back now. They are empty afterwards, so nobody else may have use for them. A chunk that shares its memory with
 * others (a slice, a piece of Node's pool) is left to the collector.
 *
 * Left to it entirely, chunks pile up: to V8 each is a small object with 64 KiB outside the heap, no reason for a quick collection, and once
 * there are some 25 MiB of them it marks the whole heap, on several threads at once. Every message of that size met one such collection on
 * average, and took twice as long when it did.
 */
export function freeMemory(chunks: readonly Uint8Array[]): void {
  for (const { buffer, byteLength } of chunks) {
    if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) buffer.transfer(0);
  }
}
