import { createHash } from "node:crypto";

/** The relaxed canonical forms of DKIM (RFC 6376 3.4), also used by ARC (RFC 8617 4.1). */

/** Returns a header field, with or without its line endings, as `name:value` without a line ending (3.4.2). */
export function relaxedField(field: string): string {
  const colon = field.indexOf(":");
  const value = field
    .slice(colon + 1)
    .replace(/\r?\n/g, "")
    .replace(/[ \t]+/g, " ");
  return `${field
    .slice(0, colon)
    .replace(/[ \t\r\n]+/g, "")
    .toLowerCase()}:${value.replace(/^ | $/g, "")}`;
}

interface BodyHash {
  push(chunk: Uint8Array): void;
  /** Returns the SHA-256 hash as base64. Call it only once. */
  digest(): string;
}

/**
 * SHA-256 over the relaxed body (3.4.4) in one pass: strips white space at line endings, collapses it to one space
 * within lines, and drops empty lines at the end. Empty lines that may turn out to be trailing are counted, not
 * buffered, so memory stays constant.
 */
export function createBodyHash(): BodyHash {
  const hash = createHash("sha256");
  let pendingBreaks = 0;
  let hasPendingSpace = false;
  let hasPendingCr = false;
  let isEmpty = true;

  function emit(bytes: Uint8Array, end: number) {
    if (end === 0) return;
    for (; pendingBreaks > 0; pendingBreaks -= Math.min(pendingBreaks, MAX_REPEAT))
      hash.update(pendingBreaks >= MAX_REPEAT ? REPEATED_LINE_BREAKS : "\r\n".repeat(pendingBreaks));
    hash.update(end === bytes.length ? bytes : bytes.subarray(0, end));
    isEmpty = false;
  }

  function addChunk(chunk: Uint8Array, last: boolean) {
    let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (hasPendingCr) bytes = Buffer.concat([CR_BYTE, bytes]);
    hasPendingCr = !last && bytes.at(-1) === CR;
    if (hasPendingCr) bytes = bytes.subarray(0, -1);
    if (hasPendingSpace && bytes.length > 0) bytes = Buffer.concat([SPACE_BYTE, bytes]);
    if (bytes.length > 0) hasPendingSpace = false;
    const text = bytes.toString("latin1");
    if (/\t|  | \r\n/.test(text))
      bytes = Buffer.from(text.replace(/[ \t]+/g, " ").replaceAll(" \r\n", "\r\n"), "latin1");
    let end = bytes.length;
    if (end > 0 && bytes[end - 1] === SPACE) {
      hasPendingSpace = true;
      end--;
    }
    let nextByte = 0;
    while (end >= 2 && bytes[end - 1] === LF && bytes[end - 2] === CR) {
      end -= 2;
      nextByte++;
    }
    emit(bytes, end);
    pendingBreaks += nextByte;
  }

  return {
    push: (chunk) => addChunk(chunk, false),
    digest() {
      if (hasPendingCr) addChunk(Buffer.alloc(0), true);
      // A non-empty body ends with exactly one line ending.
      if (!isEmpty) hash.update("\r\n");
      return hash.digest("base64");
    },
  };
}

const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const CR_BYTE = Buffer.from([CR]);
const SPACE_BYTE = Buffer.from([SPACE]);
const MAX_REPEAT = 16 * 1024;
const REPEATED_LINE_BREAKS = Buffer.from("\r\n".repeat(MAX_REPEAT));
