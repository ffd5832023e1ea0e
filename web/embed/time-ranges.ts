import type { TimeSpan } from "../shared/messages.ts";

/** Returns `buffered` or `played` in the form used by media elements, from a copy of their spans. */
export function timeRanges(spans: readonly TimeSpan[]): TimeRanges {
  const spanAt = (index: number): TimeSpan => {
    const span = spans[index];
    if (span === undefined)
      throw new DOMException(`Time range ${index} does not exist: there are ${spans.length}`, "IndexSizeError");
    return span;
  };
  return { length: spans.length, start: (index) => spanAt(index).start, end: (index) => spanAt(index).end };
}

/** Returns the valid spans of a message, because the frame that sent it is untrusted. */
export function readSpans(value: unknown): TimeSpan[] {
  if (!Array.isArray(value)) return [];
  return value
    .filter(
      (span): span is TimeSpan =>
        typeof span === "object" && span !== null && typeof span.start === "number" && typeof span.end === "number",
    )
    .map(({ start, end }) => ({ start, end }));
}
