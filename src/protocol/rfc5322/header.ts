import { Buffer, isAscii, isUtf8 } from "node:buffer";

/**
 * The header section of a message (RFC 5322 2.2), read the way mail in the wild needs it: CRLF or bare LF line ends, raw UTF-8 or
 * Latin-1 octets, lines that are no fields at all. Reading is one pass, so its time grows with the size and nothing else.
 */
export type HeaderField = [name: string, value: string];

export interface HeaderLimits {
  /** Octets of the whole block. */
  maxBytes: number;
  /** Lines that begin a field, whether they are well formed or not. */
  maxFields: number;
}

export const HEADER_LIMITS: HeaderLimits = { maxBytes: 1024 * 1024, maxFields: 10_000 };

export type HeaderReading = { ok: true; fields: HeaderField[] } | { ok: false; why: string };

/**
 * Splits a header block (without the empty line that ends it) into its fields, in order, names as written, values unfolded and
 * trimmed. A line that is not a field is left out together with its continuation lines; NUL and stray CR in a value become a space.
 */
export function readHeader(block: Uint8Array, limits: HeaderLimits = HEADER_LIMITS): HeaderReading {
  if (block.length > limits.maxBytes)
    return { ok: false, why: `the header section is larger than ${limits.maxBytes} bytes` };
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.byteLength);
  const decode = decoderFor(bytes);
  const fields: HeaderField[] = [];
  let count = 0;
  for (const [start, end] of fieldRanges(bytes)) {
    if (++count > limits.maxFields)
      return { ok: false, why: `the header section has more than ${limits.maxFields} fields` };
    const field = readField(decode(start, end));
    if (field) fields.push(field);
  }
  return { ok: true, fields };
}

/** Where each field of a header block begins and ends, its line end and continuation lines included. */
export function* fieldRanges(block: Uint8Array): Generator<[start: number, end: number]> {
  for (let at = 0; at < block.length;) {
    const end = endOfField(block, at);
    yield [at, end];
    at = end;
  }
}

/** The first value of a field, by its name without regard to case (RFC 5322 1.2.2). */
export const headerValue = (fields: HeaderField[], name: string): string | undefined =>
  fields.find(([other]) => isField(other, name))?.[1];

export const headerValues = (fields: HeaderField[], name: string): string[] =>
  fields.filter(([other]) => isField(other, name)).map(([, value]) => value);

const isField = (name: string, wanted: string) =>
  name.length === wanted.length && name.toLowerCase() === wanted.toLowerCase();

/** RFC 6532 allows UTF-8; what is not UTF-8 is most likely Latin-1 from an old sender, decided field by field. */
function decoderFor(bytes: Buffer): (from: number, to: number) => string {
  if (isAscii(bytes)) return (from, to) => bytes.toString("latin1", from, to);
  if (isUtf8(bytes)) return (from, to) => bytes.toString("utf8", from, to);
  return (from, to) =>
    isUtf8(bytes.subarray(from, to)) ? bytes.toString("utf8", from, to) : bytes.toString("latin1", from, to);
}

const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;

/** A field ends at the first line end that no white space follows (RFC 5322 2.2.3). */
function endOfField(bytes: Uint8Array, from: number): number {
  for (let at = from; ;) {
    const lf = bytes.indexOf(LF, at);
    if (lf === -1) return bytes.length;
    at = lf + 1;
    if (bytes[at] !== SPACE && bytes[at] !== TAB) return at;
  }
}

function readField(text: string): HeaderField | undefined {
  const colon = text.indexOf(":");
  if (colon <= 0) return undefined;
  // RFC 5322 4.5.8 lets old mail put white space between name and colon.
  const name = text.slice(0, colon).trimEnd();
  if (!isFieldName(name)) return undefined;
  return [
    name,
    text
      .slice(colon + 1)
      .replace(/\r?\n/g, "")
      .replace(/[\r\0]/g, " ")
      .trim(),
  ];
}

/** RFC 5322 3.6.8: printable ASCII without the colon. */
export const isFieldName = (name: string): boolean => /^[\x21-\x39\x3b-\x7e]+$/.test(name);

/** Finds the end of the header section in a stream of chunks: fed the chunks in order, it answers the section's length once it is known. */
export interface HeaderEnd {
  push(chunk: Uint8Array): number | undefined;
}

export function createHeaderEnd(): HeaderEnd {
  let offset = 0;
  let lastLf = -1;
  let previous = -1;
  return {
    push(chunk) {
      for (let lf = chunk.indexOf(LF); lf !== -1; lf = chunk.indexOf(LF, lf + 1)) {
        const at = offset + lf;
        const before = lf > 0 ? chunk[lf - 1] : previous;
        const lineIsEmpty = at - lastLf === 1 || (at - lastLf === 2 && before === 0x0d);
        if (lineIsEmpty) return lastLf + 1;
        lastLf = at;
      }
      offset += chunk.length;
      if (chunk.length > 0) previous = chunk[chunk.length - 1]!;
      return undefined;
    },
  };
}
