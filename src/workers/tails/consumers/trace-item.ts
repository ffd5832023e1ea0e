import type { Invocation } from "../../runtime/port.ts";
import type { WireTraceItem } from "../../runtime/inside/shared.ts";
import { absoluteUrl, traceOf } from "../trace.ts";

/**
 * Converts an invocation to the trace item that tail workers receive: the record of a live tail and, for a request, the
 * values that getUnredacted() returns.
 */
export function traceItemOf(invocation: Invocation): WireTraceItem {
  const { event } = invocation;
  const trace = traceOf(invocation);
  if (event.kind === "other") {
    const unredacted = event.object?.unredacted;
    return unredacted === undefined ? trace : { ...trace, unredacted };
  }
  if (event.kind !== "fetch") return trace;
  const { url, headers = {}, allHeaders = headers } = event;
  return { ...trace, unredacted: { url: absoluteUrl(url, headers), headers: allHeaders } };
}
