/** Streaming encoder with bounded memory. */
export interface TransferEncoder {
  push(bytes: Uint8Array): Buffer;
  /** Returns the remaining output, without a line ending. */
  end(): Buffer;
}

const CR = 0x0d;
const LF = 0x0a;
const EQUALS = 0x3d;
const SPACE = 0x20;
const TAB = 0x09;
const HEX = Buffer.from("0123456789ABCDEF");
/** RFC 2045 6.7 rule 5: 76 characters including the "=" of a soft line break. */
const MAX_LINE = 75;

/** Quoted-printable (RFC 2045 6.7). CR LF is a line break; a lone CR or LF is data. */
export function createQuotedPrintable(): TransferEncoder {
  let column = 0;
  /** White space that may be at the end of its line (rule 3). */
  let space = 0;
  let cr = false;
  let out = Buffer.alloc(0);
  let used = 0;

  function put(octet: number, escape: boolean) {
    const width = escape ? 3 : 1;
    if (column + width > MAX_LINE) {
      out[used++] = EQUALS;
      out[used++] = CR;
      out[used++] = LF;
      column = 0;
    }
    column += width;
    if (!escape) {
      out[used++] = octet;
      return;
    }
    out[used++] = EQUALS;
    out[used++] = HEX[octet >> 4]!;
    out[used++] = HEX[octet & 15]!;
  }

  function putSpace(escape: boolean) {
    if (space !== 0) put(space, escape);
    space = 0;
  }

  function take(octet: number) {
    if (cr) {
      cr = false;
      if (octet === LF) {
        putSpace(true);
        out[used++] = CR;
        out[used++] = LF;
        column = 0;
        return;
      }
      putSpace(false);
      put(CR, true);
    }
    if (octet === CR) {
      cr = true;
      return;
    }
    putSpace(false);
    if (octet === SPACE || octet === TAB) space = octet;
    else put(octet, octet < SPACE || octet > 0x7e || octet === EQUALS);
  }

  function begin(octets: number) {
    // Reserves three bytes per octet, a soft line break for every 25 octets, and space for the buffered white space.
    out = Buffer.allocUnsafe(octets * 4 + 32);
    used = 0;
  }

  return {
    push(bytes) {
      begin(bytes.length);
      for (let at = 0; at < bytes.length; at++) take(bytes[at]!);
      return out.subarray(0, used);
    },
    end() {
      begin(0);
      putSpace(true);
      if (cr) put(CR, true);
      cr = false;
      return out.subarray(0, used);
    },
  };
}

/** Input bytes per base64 line of 76 characters (RFC 2045 6.8). */
const BASE64_LINE = 57;

/** Base64 in lines of 76 characters, without a line ending after the last line. */
export function createBase64(): TransferEncoder {
  let rest = Buffer.alloc(0);
  let begun = false;

  function lines(bytes: Buffer): Buffer {
    const text: string[] = [];
    for (let at = 0; at < bytes.length; at += BASE64_LINE) {
      text.push(`${begun ? "\r\n" : ""}${bytes.toString("base64", at, Math.min(at + BASE64_LINE, bytes.length))}`);
      begun = true;
    }
    return Buffer.from(text.join(""), "latin1");
  }

  return {
    push(chunk) {
      const bytes = Buffer.concat([rest, chunk]);
      const whole = bytes.length - (bytes.length % BASE64_LINE);
      rest = bytes.subarray(whole);
      return lines(bytes.subarray(0, whole));
    },
    end() {
      const last = rest;
      rest = Buffer.alloc(0);
      return lines(last);
    },
  };
}
