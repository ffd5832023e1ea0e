/**
 * Joins the pieces in memory of their own. Fragments stay in memory as long as their segment: as a slice of Node's
 * buffer pool, a fragment of a few kilobytes would retain 64 kilobytes.
 */
export function joinInOwnMemory(pieces: readonly Buffer[]): Buffer {
  const memory = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) at += piece.copy(memory, at);
  return memory;
}
