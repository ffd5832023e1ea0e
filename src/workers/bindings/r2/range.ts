import { r2Errors } from "./errors.ts";
import type { ByteRange, WantedRange } from "./object.ts";

/** The bytes of an object of `size` that a range asks for. Throws invalidRange when there are none. */
export function resolveRange(wanted: WantedRange | undefined, size: number): ByteRange {
  if (wanted && "header" in wanted) wanted = parseRangeHeader(wanted.header);
  if (!wanted) return { offset: 0, length: size };
  const unsatisfiable = () => r2Errors.invalidRange({ size });

  if ("suffix" in wanted) {
    if (!(wanted.suffix > 0)) throw unsatisfiable();
    const length = Math.min(wanted.suffix, size);
    return { offset: size - length, length };
  }
  const { offset = 0, length = Infinity } = wanted;
  // The start of an empty object is not beyond its end: there, "everything from 0" is the whole of it.
  if (!(offset >= 0 && (offset < size || (offset === 0 && size === 0)) && length > 0)) throw unsatisfiable();
  return { offset, length: Math.min(length, size - offset) };
}

/** RFC 9110 14.1.2. Several ranges, another unit or a malformed value: undefined, the header is ignored and the whole is sent. */
export function parseRangeHeader(header: string): Exclude<WantedRange, { header: string }> | undefined {
  const match = /^\s*bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header);
  if (!match) return undefined;
  const [, first = "", last = ""] = match;
  if (first === "") return last === "" ? undefined : { suffix: Number(last) };
  if (last === "") return { offset: Number(first) };
  if (Number(last) < Number(first)) return undefined;
  return { offset: Number(first), length: Number(last) - Number(first) + 1 };
}
