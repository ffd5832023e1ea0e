import { apiErrors } from "./errors.ts";

/** Default maximum number of values in one JSON text. */
const DEFAULT_MAX_VALUES = 100_000;
/** Deeper than any valid request, but far below the recursion limit. */
const MAX_DEPTH = 200;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Checks the size of JSON before parsing: a megabyte of `0,` is half a million values, and a validator reports hundreds
 * of bytes for each invalid one, so a small body could exhaust the heap. Does not validate the syntax. Throws
 * tooManyValues, tooDeep.
 */
export function checkJsonShape(bytes: Uint8Array, maxValues = DEFAULT_MAX_VALUES): void {
  let values = 1;
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    switch (bytes[i]) {
      case QUOTE:
        i = endOfString(bytes, i);
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        if (++depth > MAX_DEPTH) throw apiErrors.tooDeep({ limit: MAX_DEPTH });
        values++;
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth--;
        break;
      case COMMA:
        values++;
    }
    if (values > maxValues) throw apiErrors.tooManyValues({ limit: maxValues });
  }
}

/** Returns the position of the closing quote of the string that begins at `from`. */
function endOfString(bytes: Uint8Array, from: number): number {
  for (let end = bytes.indexOf(QUOTE, from + 1); end >= 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let before = end - 1;
    while (bytes[before] === BACKSLASH) before--;
    // The quote ends the string if the number of preceding backslashes is even.
    if ((end - before) % 2 === 1) return end;
  }
  return bytes.length;
}
