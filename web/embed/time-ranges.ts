import type { TimeSpan } from "../shared/messages.ts";

/** What `buffered` and `played` of a media element are, made of a copy of their spans. */
export function timeRanges(spans: readonly TimeSpan[]): TimeRanges {
  const at = (index: number): TimeSpan => {
    const span = spans[index];
    if (span === undefined)
      throw new DOMException(`There is no time range ${index} of ${spans.length}`, "IndexSizeError");
    return span;
  };
  return { length: spans.length, start: (index) => at(index).start, end: (index) => at(index).end };
}

/** A frame is somebody else's: what it sends is looked at. */
export function readSpans(value: unknown): TimeSpan[] {
  if (!Array.isArray(value)) return [];
  return value
    .filter(
      (span): span is TimeSpan =>
        typeof span === "object" && span !== null && typeof span.start === "number" && typeof span.end === "number",
    )
    .map(({ start, end }) => ({ start, end }));
}
