/**
 * Normalizes line endings for the wire (RFC 5322 2.3): a lone CR or LF becomes CRLF. Messages built in code often
 * contain bare LF, and no server may forward one (RFC 5321 2.3.8).
 */
export async function* crlfLineEnds(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let hasHeldCr = false;
  for await (const chunk of body) {
    if (chunk.length === 0) continue;
    const bytes: Buffer = hasHeldCr
      ? Buffer.concat([CR_BYTE, chunk])
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    // A final CR is held back until the next byte arrives.
    hasHeldCr = bytes[bytes.length - 1] === CR;
    const completeBytes = hasHeldCr ? bytes.subarray(0, -1) : bytes;
    if (completeBytes.length > 0)
      yield hasLoneLineEnd(completeBytes)
        ? Buffer.from(completeBytes.toString("latin1").replace(/\r\n?|\n/g, "\r\n"), "latin1")
        : completeBytes;
  }
  if (hasHeldCr) yield Buffer.from("\r\n");
}

const CR = 0x0d;
const LF = 0x0a;
const CR_BYTE = Buffer.from([CR]);

function hasLoneLineEnd(bytes: Buffer): boolean {
  let afterCr = false;
  for (const byte of bytes) {
    if (afterCr !== (byte === LF)) return true;
    afterCr = byte === CR;
  }
  return afterCr;
}
