// The trace items of other workers as seen by the tail handler, and the call that delivers them.
import { answerWith, trackActivity, runHandler } from "./message.ts";
import type { WireTraceItem } from "./shared.ts";

/** Adds the method that JSON cannot contain; not enumerable, so that a logged item looks like that of workerd. */
function open({ unredacted, ...item }: WireTraceItem): object {
  const { request } = (item.event ?? {}) as { request?: object };
  if (request === undefined || unredacted === undefined) return item;
  const withMethod = (value: object, getUnredacted: () => object) =>
    Object.defineProperty(value, "getUnredacted", { value: getUnredacted });
  const full: object = withMethod({ ...request, ...unredacted }, () => full);
  withMethod(request, () => full);
  return item;
}

/** Runs the handler for some trace items and returns the outcome. */
export async function dispatchTail(
  request: Request,
  context: ExecutionContext,
  handle: (events: object[]) => unknown,
  { alwaysTail = false } = {},
): Promise<Response> {
  const items = (await request.json<WireTraceItem[]>()).map(open);
  const before = trackActivity(context);
  return answerWith(await runHandler(() => handle(items)), before, alwaysTail);
}

export const NO_TAIL_HANDLER = "Handler does not export a tail() function";
