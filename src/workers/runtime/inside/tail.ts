// The tail of every worker: posts the logs and outcome of an invocation once its waitUntil() work has ended.
import { MAIL_ENTRYPOINT, OBJECT_MODEL } from "./shared.ts";

/**
 * True for a message without logs: in this common case, the response has already reported the outcome (see message.ts),
 * which saves the call. Does not read the request of the item: workerd would create all its headers.
 */
function isSilent(item: TraceItem): boolean {
  return (
    item.entrypoint === MAIL_ENTRYPOINT &&
    item.outcome === "ok" &&
    item.logs.length === 0 &&
    item.exceptions.length === 0 &&
    item.diagnosticsChannelEvents.length === 0
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
