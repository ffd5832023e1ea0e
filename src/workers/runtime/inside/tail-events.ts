// Delivers the trace items of other workers to the tail handler.
import { answerWith, trackActivity, runHandler } from "./message.ts";
import type { WireTraceItem } from "./shared.ts";

/**
 * Adds what JSON cannot contain: the time of an alarm as a Date, and getUnredacted(); the method is not enumerable, so
 * that a logged item looks like one from workerd.
 */
function restoreItem({ unredacted, ...item }: WireTraceItem): object {
  const { request, scheduledTime } = (item.event ?? {}) as { request?: object; scheduledTime?: string | number };
  if (typeof scheduledTime === "string") return { ...item, event: { scheduledTime: new Date(scheduledTime) } };
  if (request === undefined || unredacted === undefined) return item;
  const withMethod = (value: object, getUnredacted: () => object) =>
    Object.defineProperty(value, "getUnredacted", { value: getUnredacted });
  const fullRequest: object = withMethod({ ...request, ...unredacted }, () => fullRequest);
  withMethod(request, () => fullRequest);
  return item;
}

/** Calls the handler with trace items and returns the outcome. */
export async function dispatchTail(
  request: Request,
  context: ExecutionContext,
  handle: (events: object[]) => unknown,
  { alwaysTail = false } = {},
): Promise<Response> {
  const items = (await request.json<WireTraceItem[]>()).map(restoreItem);
  const before = trackActivity(context);
  return answerWith(await runHandler(() => handle(items)), before, alwaysTail);
}

export const NO_TAIL_HANDLER = "Handler does not export a tail() function";
