import type { Span, Tracing } from "../kernel/tracing.ts";
import type { DeliveryResult } from "./messages/index.ts";
import type { Receiver } from "./receive.ts";

/** Records a span for each message. Addresses and subjects are not recorded. */
export function traceReceiver(receiver: Receiver, tracing: Tracing | undefined): Receiver {
  if (tracing === undefined) return receiver;
  return {
    ...receiver,
    receive: (envelope, source) =>
      tracing.run(
        "mail receive",
        {
          kind: "server",
          attributes: {
            "reelpost.message.id": source.id,
            "reelpost.message.size": source.size,
            "reelpost.message.recipients": envelope.to.length,
          },
        },
        async (span) => {
          const results = await receiver.receive(envelope, source);
          record(span, results);
          return results;
        },
      ),
    retry: (message, recipient) =>
      tracing.run(
        "mail retry",
        { kind: "consumer", attributes: { "reelpost.message.id": message.source.id } },
        async (span) => {
          const result = await receiver.retry(message, recipient);
          record(span, [result]);
          return result;
        },
      ),
  };
}

/** A rejection is a correct result; a deferral means that something failed. */
function record(span: Span, results: readonly DeliveryResult[]): void {
  const failed = results.flatMap((result) => (result.ok ? [] : [result]));
  const deferred = failed.filter(({ temporary }) => temporary);
  span.set({
    "reelpost.message.accepted": results.length - failed.length,
    "reelpost.message.rejected": failed.length - deferred.length,
    "reelpost.message.deferred": deferred.length,
  });
  if (deferred.length > 0) span.fail(`${deferred.length} of ${results.length} recipients deferred`);
}
