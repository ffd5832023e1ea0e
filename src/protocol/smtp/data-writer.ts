/** The sending half of DATA (RFC 5321 4.5.2): stuffs dots, and writes a bare LF as CR LF. */
interface DataWriter {
  /** Returns the next octets of the message, as pieces of `chunk` and insertions. */
  push(chunk: Uint8Array): Uint8Array[];
  /** Returns the end of the last line, if it lacks one, and the end of data. */
  end(): Buffer;
}

const CR = 0x0d;
const LF = 0x0a;
const DOT_OCTET = 0x2e;
const DOT = Buffer.from(".");
const CARRIAGE_RETURN = Buffer.from("\r");

export function createDataWriter(): DataWriter {
  let last = LF;

  function push(chunk: Uint8Array): Uint8Array[] {
    if (chunk.length === 0) return [];
    const octets = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    const pieces: Uint8Array[] = [];
    let written = 0;
    const insert = (at: number, piece: Buffer) => {
      if (at > written) pieces.push(octets.subarray(written, at));
      pieces.push(piece);
      written = at;
    };
    if (last === LF && octets[0] === DOT_OCTET) insert(0, DOT);
    for (let at = octets.indexOf(LF); at !== -1; at = octets.indexOf(LF, at + 1)) {
      if (!(at === 0 ? last === CR : octets[at - 1] === CR)) insert(at, CARRIAGE_RETURN);
      if (octets[at + 1] === DOT_OCTET) insert(at + 1, DOT);
    }
    pieces.push(octets.subarray(written));
    last = octets.at(-1)!;
    return pieces;
  }

  return {
    push,
    end: () => Buffer.from(last === LF ? ".\r\n" : last === CR ? "\n.\r\n" : "\r\n.\r\n"),
  };
}
