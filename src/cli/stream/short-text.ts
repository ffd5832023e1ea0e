/** Longer error texts are truncated. */
const MAX_TEXT_BYTES = 64 * 1024;

/** Resolves with the beginning of a response body. Never throws. */
export async function readBodyStart(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of response.body ?? []) {
      pieces.push(piece);
      size += piece.length;
      if (size >= MAX_TEXT_BYTES) break;
    }
  } catch {
    // The part received so far is used.
  }
  return Buffer.concat(pieces).toString().trim();
}
