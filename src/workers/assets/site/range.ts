/** Both ends are inclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Parses a Range header with one range (RFC 9110 14.2). Returns undefined if the whole file is to be sent, which the
 * standard also allows for multiple ranges and invalid headers, or "unsatisfiable" for status 416.
 */
export function readRange(field: string | undefined, size: number): ByteRange | "unsatisfiable" | undefined {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(field?.trim() ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "")
    return Number(last) === 0 || size === 0
      ? "unsatisfiable"
      : { start: Math.max(0, size - Number(last)), end: size - 1 };
  if (last !== "" && Number(last) < Number(first)) return undefined;
  if (Number(first) >= size) return "unsatisfiable";
  return { start: Number(first), end: last === "" ? size - 1 : Math.min(Number(last), size - 1) };
}

/** Evaluates If-None-Match by weak comparison (RFC 9110 13.1.2). */
export const matchesEtag = (field: string | undefined, etag: string): boolean =>
  field !== undefined &&
  (field.trim() === "*" || field.split(",").some((listedTag) => listedTag.trim().replace(/^W\//, "") === etag));
