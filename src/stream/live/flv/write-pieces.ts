import type { Writable } from "node:stream";

/** Writes several buffers, in one system call if possible. Does nothing if the stream is closed. */
export function writeBuffers(to: Writable, pieces: readonly Buffer[]): void {
  if (!to.writable) return;
  if (pieces.length > 1) to.cork();
  for (const piece of pieces) to.write(piece);
  if (pieces.length > 1) to.uncork();
}
