import type { Writable } from "node:stream";

/** Hands pieces over together, in one call of the system where there are several. To what is closed nothing is written. */
export function writePieces(to: Writable, pieces: readonly Buffer[]): void {
  if (!to.writable) return;
  if (pieces.length > 1) to.cork();
  for (const piece of pieces) to.write(piece);
  if (pieces.length > 1) to.uncork();
}
