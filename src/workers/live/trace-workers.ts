import type { IncomingMessage } from "node:http";
import type { Span, SpanAttributes, Tracing } from "../../kernel/tracing.ts";
import type { InvocationOutcome } from "../runtime/port.ts";
import type { LiveWorkers, ScriptRef } from "../scripts/port.ts";

type Invocations = Pick<LiveWorkers, "email" | "fetch" | "upgrade" | "scheduled" | "queue">;

/**
 * Records a span for each invocation. A request reaches the worker with the `traceparent` of its span, so that the
 * worker can continue the trace in its own requests.
 */
export function traceWorkers<Live extends Invocations>(live: Live, tracing: Tracing | undefined): Live {
  if (tracing === undefined) return live;
  const traced: Invocations = {
    email: (ref, mail, actions) =>
      tracing.run(
        "worker email",
        { attributes: { ...workerOf(ref), "reelpost.message.id": mail.id, "reelpost.message.size": mail.rawSize } },
        (span) => settled(span, live.email(ref, mail, actions)),
      ),
    fetch: (ref, request, response) =>
      tracing.run(
        "worker fetch",
        { kind: "server", parent: request.headers, attributes: { ...workerOf(ref), ...requestOf(request) } },
        async (span) => {
          passOn(request, tracing);
          const outcome = await settled(span, live.fetch(ref, request, response));
          span.set({ "http.response.status_code": response.statusCode });
          return outcome;
        },
      ),
    upgrade: (ref, request, socket, head) =>
      void tracing.run(
        "worker upgrade",
        { kind: "server", parent: request.headers, attributes: { ...workerOf(ref), ...requestOf(request) } },
        () => {
          passOn(request, tracing);
          const closed = socket.destroyed
            ? Promise.resolve()
            : new Promise<void>((resolve) => void socket.once("close", () => resolve()));
          live.upgrade(ref, request, socket, head);
          return closed;
        },
      ),
    scheduled: (ref, event) =>
      tracing.run("worker scheduled", { attributes: { ...workerOf(ref), "faas.cron": event.cron } }, (span) =>
        settled(span, live.scheduled(ref, event)),
      ),
    queue: (ref, batch) =>
      tracing.run(
        "worker queue",
        {
          kind: "consumer",
          attributes: {
            ...workerOf(ref),
            "messaging.destination.name": batch.queue,
            "messaging.batch.message_count": batch.messages.length,
          },
        },
        (span) => settled(span, live.queue(ref, batch)),
      ),
  };
  return { ...live, ...traced };
}

const workerOf = ({ account, script }: ScriptRef): SpanAttributes => ({
  "faas.name": script,
  "reelpost.account.id": account,
});

/** Returns the span attributes of a request, without the query, which may contain credentials. */
const requestOf = ({ method = "GET", url = "/" }: IncomingMessage): SpanAttributes => ({
  "http.request.method": method,
  "url.path": url.replace(/\?.*$/, ""),
});

async function settled<Outcome extends InvocationOutcome>(span: Span, invocation: Promise<Outcome>): Promise<Outcome> {
  const outcome = await invocation;
  span.set({ "reelpost.worker.outcome": outcome.outcome });
  if (outcome.outcome !== "ok" && outcome.outcome !== "canceled")
    span.fail(outcome.exception === undefined ? outcome.outcome : `${outcome.outcome}: ${outcome.exception.message}`);
  return outcome;
}

/** Replaces the trace context of the request with that of the current span (W3C Trace Context 3.4). */
function passOn(request: IncomingMessage, tracing: Tracing): void {
  const { traceparent, tracestate } = tracing.headers();
  if (traceparent === undefined) return;
  const rawHeaders: string[] = [];
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    const name = request.rawHeaders[i]!;
    if (!/^trace(?:parent|state)$/i.test(name)) rawHeaders.push(name, request.rawHeaders[i + 1]!);
  }
  rawHeaders.push("traceparent", traceparent);
  request.headers["traceparent"] = traceparent;
  delete request.headers["tracestate"];
  if (tracestate !== undefined) {
    rawHeaders.push("tracestate", tracestate);
    request.headers["tracestate"] = tracestate;
  }
  request.rawHeaders = rawHeaders;
}
