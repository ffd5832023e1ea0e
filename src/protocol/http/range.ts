/** Both ends inclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Parses a Range field (RFC 9110 14.2). Undefined for the whole object, including for multiple ranges and invalid
 * fields, as the standard allows. "unsatisfiable": 416.
 */
export function readRange(field: string | undefined, size: number): ByteRange | "unsatisfiable" | undefined {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(field?.trim() ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "")
    return Number(last) === 0 || size === 0
      ? "unsatisfiable"
      : { start: Math.max(0, size - Number(last)), end: size - 1 };
  const start = Number(first);
  if (last !== "" && Number(last) < start) return undefined;
  return start >= size ? "unsatisfiable" : { start, end: last === "" ? size - 1 : Math.min(Number(last), size - 1) };
}

/** RFC 9110 13.1.2, by weak comparison. */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return (
    ifNoneMatch.trim() === "*" ||
    ifNoneMatch.split(",").some((listedTag) => listedTag.trim().replace(/^W\//, "") === etag.replace(/^W\//, ""))
  );
}
