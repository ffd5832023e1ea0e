// The tail of every worker: posts the logs and outcome of an invocation once its waitUntil() work has ended.
import { DISPATCH_HEADER, OBJECT_MODEL } from "./shared.ts";

/**
 * True for a message without logs: in this common case, the response has already reported the outcome (see message.ts),
 * which saves the call. No response reports an event of a Durable Object, whatever its headers.
 */
function isSilent(item: TraceItem): boolean {
  const { logs, exceptions, diagnosticsChannelEvents, outcome, executionModel } = item;
  return (
    executionModel !== OBJECT_MODEL &&
    requestOf(item)?.headers[DISPATCH_HEADER] !== undefined &&
    logs.length === 0 &&
    exceptions.length === 0 &&
    diagnosticsChannelEvents.length === 0 &&
    outcome === "ok"
  );
}

const requestOf = ({ event }: TraceItem) => (event !== null && "request" in event ? event.request : undefined);

/** JSON has no getUnredacted(). The server knows the values of all requests except those to objects. */
function withUnredacted(item: TraceItem): object {
  const request = item.executionModel === OBJECT_MODEL ? requestOf(item) : undefined;
  if (request === undefined) return item;
  const { url, headers } = request.getUnredacted();
  return { ...item, unredacted: { url, headers } };
}

export default {
  async tail(items: TraceItem[], env: { server: Fetcher }): Promise<void> {
    const reportedItems = items.filter((item) => !isSilent(item));
    if (reportedItems.length === 0) return;
    await env.server.fetch("http://tail/", { method: "POST", body: JSON.stringify(reportedItems.map(withUnredacted)) });
  },
};
