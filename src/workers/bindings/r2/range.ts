import { r2Errors } from "./errors.ts";
import type { ObjectRange, WantedRange } from "./object.ts";

/** Returns the bytes that a range selects in an object of `size`. Throws invalidRange if it is not satisfiable. */
export function resolveRange(wantedRange: WantedRange | undefined, size: number): ObjectRange {
  if (wantedRange && "header" in wantedRange) wantedRange = parseRangeHeader(wantedRange.header);
  if (!wantedRange) return { offset: 0, length: size };
  const unsatisfiableError = () => r2Errors.invalidRange({ size });

  if ("suffix" in wantedRange) {
    if (!(wantedRange.suffix > 0)) throw unsatisfiableError();
    const length = Math.min(wantedRange.suffix, size);
    return { offset: size - length, length };
  }
  const { offset = 0, length = Infinity } = wantedRange;
  // For an empty object, "everything from 0" is satisfiable: it selects the whole object.
  if (!(offset >= 0 && (offset < size || (offset === 0 && size === 0)) && length > 0)) throw unsatisfiableError();
  return { offset, length: Math.min(length, size - offset) };
}

/** Longer values are ignored: the regular expressions below take more than linear time. */
export const MAX_RANGE_CHARACTERS = 100;

/**
 * RFC 9110 14.1.2. Returns undefined for several ranges, another unit or a malformed value: the header is then ignored
 * and the whole object is sent.
 */
export function parseRangeHeader(header: string): Exclude<WantedRange, { header: string }> | undefined {
  if (header.length > MAX_RANGE_CHARACTERS) return undefined;
  const match = /^\s*bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header);
  if (!match) return undefined;
  const [, first = "", last = ""] = match;
  if (first === "") return last === "" ? undefined : { suffix: Number(last) };
  if (last === "") return { offset: Number(first) };
  if (Number(last) < Number(first)) return undefined;
  return { offset: Number(first), length: Number(last) - Number(first) + 1 };
}
