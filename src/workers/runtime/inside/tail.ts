// The tail of every worker: posts the logs and outcome of an invocation once its waitUntil() work has ended.
import { DISPATCH_HEADER } from "./shared.ts";

/**
 * For a message without logs, the response has already reported this (see message.ts): this is the common case and
 * saves the call.
 */
function isSilent({ event, logs, exceptions, diagnosticsChannelEvents, outcome }: TraceItem): boolean {
  const request = event !== null && "request" in event ? event.request : undefined;
  return (
    request?.headers[DISPATCH_HEADER] !== undefined &&
    logs.length === 0 &&
    exceptions.length === 0 &&
    diagnosticsChannelEvents.length === 0 &&
    outcome === "ok"
  );
}

export default {
  async tail(items: TraceItem[], env: { server: Fetcher }): Promise<void> {
    const telling = items.filter((item) => !isSilent(item));
    if (telling.length > 0) await env.server.fetch("http://tail/", { method: "POST", body: JSON.stringify(telling) });
  },
};
