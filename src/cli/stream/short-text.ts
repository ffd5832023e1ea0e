/** What an error is told in is short; what is not is cut. */
const MAX = 64 * 1024;

/** The text of an answer, as far as it is worth reading. Never throws. */
export async function shortText(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of response.body ?? []) {
      pieces.push(piece);
      size += piece.length;
      if (size >= MAX) break;
    }
  } catch {
    // What came is better than nothing.
  }
  return Buffer.concat(pieces).toString().trim();
}
