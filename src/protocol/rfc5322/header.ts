import { Buffer, isAscii, isUtf8 } from "node:buffer";

/**
 * Parser for the header section of a message (RFC 5322 2.2) that tolerates real-world mail: CRLF or bare LF line
 * endings, raw UTF-8 or Latin-1 octets, and lines that are not fields. Uses a single pass in linear time.
 */
export type HeaderField = [name: string, value: string];

interface HeaderLimits {
  /** Maximum size of the whole block in octets. */
  maxBytes: number;
  /** Maximum number of lines that begin a field, well-formed or not. */
  maxFields: number;
}

export const HEADER_LIMITS: HeaderLimits = { maxBytes: 1024 * 1024, maxFields: 10_000 };

type HeaderReading = { ok: true; fields: HeaderField[] } | { ok: false; why: string };

/**
 * Splits a header block (without the empty line that ends it) into its fields, in order, with unchanged names, and with
 * unfolded and trimmed values. Drops lines that are not fields, with their continuation lines; replaces NUL and stray
 * CR in a value with a space.
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

/** Yields the start and end of each field in a header block, including its line ending and continuation lines. */
export function* fieldRanges(block: Uint8Array): Generator<[start: number, end: number]> {
  for (let at = 0; at < block.length;) {
    const end = endOfField(block, at);
    yield [at, end];
    at = end;
  }
}

/** First value of a field, by case-insensitive name (RFC 5322 1.2.2). */
export const headerValue = (fields: HeaderField[], name: string): string | undefined =>
  fields.find(([other]) => isField(other, name))?.[1];

export const headerValues = (fields: HeaderField[], name: string): string[] =>
  fields.filter(([other]) => isField(other, name)).map(([, value]) => value);

const isField = (name: string, wanted: string) =>
  name.length === wanted.length && name.toLowerCase() === wanted.toLowerCase();

/** RFC 6532 allows UTF-8; other octets are probably Latin-1 from an old client. The choice is made for each field. */
function decoderFor(bytes: Buffer): (from: number, to: number) => string {
  if (isAscii(bytes)) return (from, to) => bytes.toString("latin1", from, to);
  if (isUtf8(bytes)) return (from, to) => bytes.toString("utf8", from, to);
  return (from, to) =>
    isUtf8(bytes.subarray(from, to)) ? bytes.toString("utf8", from, to) : bytes.toString("latin1", from, to);
}

const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;

/** A field ends at the first line ending not followed by white space (RFC 5322 2.2.3). */
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
  // RFC 5322 4.5.8: old messages may have white space between the name and the colon.
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

/**
 * Finds the end of the header section in a stream: returns the section's length once it is known. The chunks must be
 * pushed in order.
 */
interface HeaderEndFinder {
  push(chunk: Uint8Array): number | undefined;
}

export function createHeaderEndFinder(): HeaderEndFinder {
  let offset = 0;
  let lastLf = -1;
  let previous = -1;
  return {
    push(chunk) {
      for (let lf = chunk.indexOf(LF); lf !== -1; lf = chunk.indexOf(LF, lf + 1)) {
        const at = offset + lf;
        const before = lf > 0 ? chunk[lf - 1] : previous;
        const isEmptyLine = at - lastLf === 1 || (at - lastLf === 2 && before === 0x0d);
        if (isEmptyLine) return lastLf + 1;
        lastLf = at;
      }
      offset += chunk.length;
      if (chunk.length > 0) previous = chunk[chunk.length - 1]!;
      return undefined;
    },
  };
}
