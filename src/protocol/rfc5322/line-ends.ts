/**
 * Gives a message the line ends of the wire (RFC 5322 2.3): a CR or LF that stands alone becomes CRLF. Messages put together in code
 * are full of bare LF, and no server may pass one on (RFC 5321 2.3.8).
 */
export async function* crlfLineEnds(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let heldCr = false;
  for await (const chunk of body) {
    if (chunk.length === 0) continue;
    const bytes: Buffer = heldCr
      ? Buffer.concat([CR_BYTE, chunk])
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    // A final CR waits for what follows it.
    heldCr = bytes[bytes.length - 1] === CR;
    const whole = heldCr ? bytes.subarray(0, -1) : bytes;
    if (whole.length > 0)
      yield hasLoneLineEnd(whole)
        ? Buffer.from(whole.toString("latin1").replace(/\r\n?|\n/g, "\r\n"), "latin1")
        : whole;
  }
  if (heldCr) yield Buffer.from("\r\n");
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
