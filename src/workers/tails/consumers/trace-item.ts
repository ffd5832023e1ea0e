import type { Invocation } from "../../runtime/port.ts";
import type { WireTraceItem } from "../../runtime/inside/shared.ts";
import { absoluteUrl, traceOf } from "../trace.ts";

/**
 * An invocation as its tail workers receive it. The same as a record of a live tail, and for a request also the values
 * that getUnredacted() returns.
 */
export function traceItemOf(invocation: Invocation): WireTraceItem {
  const { event } = invocation;
  const trace = traceOf(invocation);
  if (event.kind !== "fetch") return trace;
  const { url, headers = {}, allHeaders = headers } = event;
  return { ...trace, unredacted: { url: absoluteUrl(url, headers), headers: allHeaders } };
}
