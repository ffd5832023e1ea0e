import { apiErrors } from "./errors.ts";

/** Values of one JSON text unless the operation takes more. */
export const DEFAULT_VALUES = 100_000;
/** Deeper than anything that is meant, and far from where a recursion over it ends. */
const MAX_DEPTH = 200;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Looks at JSON before it is parsed: a megabyte of `0,` is half a million values, a validator has some hundred bytes to say about each of them that
 * is wrong, and so a body far below every limit of octets would take the whole heap. Says nothing about whether it is JSON. Throws tooManyValues, tooDeep.
 */
export function checkJsonShape(bytes: Uint8Array, maxValues = DEFAULT_VALUES): void {
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

/** Where the text that begins at `from` has its other quote. */
function endOfString(bytes: Uint8Array, from: number): number {
  for (let end = bytes.indexOf(QUOTE, from + 1); end >= 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let before = end - 1;
    while (bytes[before] === BACKSLASH) before--;
    // An even number of backslashes are characters of the text.
    if ((end - before) % 2 === 1) return end;
  }
  return bytes.length;
}
