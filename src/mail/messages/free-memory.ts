/**
 * Gives the memory of chunks back now. They are empty afterwards, so nobody else may have use for them. A chunk that shares its memory with
 * others (a slice, a piece of Node's pool) is left to the collector.
 *
 * Left to it entirely, each chunk of 64 KiB is a small object that seems to cost nothing: V8 looks at memory outside its heap only after every
 * 64 MiB or so, and then marks the whole heap, with as many threads as the machine has. A message of 25 MiB took twice as long whenever it met that.
 */
export function freeMemory(chunks: readonly Uint8Array[]): void {
  for (const { buffer, byteLength } of chunks) {
    if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) buffer.transfer(0);
  }
}
