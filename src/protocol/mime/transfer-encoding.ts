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
const MAX_LINE_LENGTH = 75;

/** Creates a quoted-printable encoder (RFC 2045 6.7). CR LF is a line break; a lone CR or LF is data. */
export function createQuotedPrintable(): TransferEncoder {
  let column = 0;
  /** White space that may be at the end of its line (rule 3). */
  let pendingSpace = 0;
  let hasPendingCr = false;
  let out = Buffer.alloc(0);
  let usedBytes = 0;

  function put(octet: number, mustEscape: boolean) {
    const width = mustEscape ? 3 : 1;
    if (column + width > MAX_LINE_LENGTH) {
      out[usedBytes++] = EQUALS;
      out[usedBytes++] = CR;
      out[usedBytes++] = LF;
      column = 0;
    }
    column += width;
    if (!mustEscape) {
      out[usedBytes++] = octet;
      return;
    }
    out[usedBytes++] = EQUALS;
    out[usedBytes++] = HEX[octet >> 4]!;
    out[usedBytes++] = HEX[octet & 15]!;
  }

  function putSpace(mustEscape: boolean) {
    if (pendingSpace !== 0) put(pendingSpace, mustEscape);
    pendingSpace = 0;
  }

  function takeOctet(octet: number) {
    if (hasPendingCr) {
      hasPendingCr = false;
      if (octet === LF) {
        putSpace(true);
        out[usedBytes++] = CR;
        out[usedBytes++] = LF;
        column = 0;
        return;
      }
      putSpace(false);
      put(CR, true);
    }
    if (octet === CR) {
      hasPendingCr = true;
      return;
    }
    putSpace(false);
    if (octet === SPACE || octet === TAB) pendingSpace = octet;
    else put(octet, octet < SPACE || octet > 0x7e || octet === EQUALS);
  }

  function reserveOutput(octets: number) {
    // Reserves three bytes per octet, a soft line break for every 25 octets, and space for the buffered white space.
    out = Buffer.allocUnsafe(octets * 4 + 32);
    usedBytes = 0;
  }

  return {
    push(bytes) {
      reserveOutput(bytes.length);
      for (let at = 0; at < bytes.length; at++) takeOctet(bytes[at]!);
      return out.subarray(0, usedBytes);
    },
    end() {
      reserveOutput(0);
      putSpace(true);
      if (hasPendingCr) put(CR, true);
      hasPendingCr = false;
      return out.subarray(0, usedBytes);
    },
  };
}

/** Input bytes per base64 line of 76 characters (RFC 2045 6.8). */
const BASE64_LINE_BYTES = 57;

/** Creates a base64 encoder: lines of 76 characters, without a line ending after the last line. */
export function createBase64(): TransferEncoder {
  let rest = Buffer.alloc(0);
  let hasBegun = false;

  function encodeLines(bytes: Buffer): Buffer {
    const text: string[] = [];
    for (let at = 0; at < bytes.length; at += BASE64_LINE_BYTES) {
      text.push(
        `${hasBegun ? "\r\n" : ""}${bytes.toString("base64", at, Math.min(at + BASE64_LINE_BYTES, bytes.length))}`,
      );
      hasBegun = true;
    }
    return Buffer.from(text.join(""), "latin1");
  }

  return {
    push(chunk) {
      const bytes = Buffer.concat([rest, chunk]);
      const wholeLength = bytes.length - (bytes.length % BASE64_LINE_BYTES);
      rest = bytes.subarray(wholeLength);
      return encodeLines(bytes.subarray(0, wholeLength));
    },
    end() {
      const last = rest;
      rest = Buffer.alloc(0);
      return encodeLines(last);
    },
  };
}
