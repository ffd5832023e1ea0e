/** Reader for AAC frames, each preceded by a header with its length (ISO 14496-3 1.A.2). */
interface AdtsReader {
  /** Returns the complete frames, without their headers. Throws if a header is missing. */
  push(chunk: Buffer): Buffer[];
}

const SHORT_HEADER_BYTES = 7;
const LONG_HEADER_BYTES = 9;

export function createAdtsReader(): AdtsReader {
  let rest: Buffer = Buffer.alloc(0);
  return {
    push(chunk) {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const frames: Buffer[] = [];
      let at = 0;
      while (at + SHORT_HEADER_BYTES <= bytes.length) {
        if (bytes[at] !== 0xff || (bytes[at + 1]! & 0xf6) !== 0xf0)
          throw new Error("the encoder wrote data other than AAC frames");
        // The length is 13 bits spread over three octets.
        const length = ((bytes[at + 3]! & 3) << 11) | (bytes[at + 4]! << 3) | (bytes[at + 5]! >> 5);
        const header = (bytes[at + 1]! & 1) === 1 ? SHORT_HEADER_BYTES : LONG_HEADER_BYTES;
        if (length < header) throw new Error("the encoder wrote an AAC frame without a length");
        if (at + length > bytes.length) break;
        frames.push(bytes.subarray(at + header, at + length));
        at += length;
      }
      rest = bytes.subarray(at);
      return frames;
    },
  };
}
