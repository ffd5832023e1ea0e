import type { Tracing } from "../../kernel/tracing.ts";
import type { DeliveryAgent } from "./types.ts";

/** Records a span for each delivery attempt, both for a message that is being received and for a queued one. */
export function traceAgent(agent: DeliveryAgent, tracing: Tracing | undefined): DeliveryAgent {
  if (tracing === undefined) return agent;
  return {
    ...agent,
    deliver: (domain, request, signal) =>
      tracing.run(
        "mail deliver",
        {
          kind: "client",
          attributes: {
            "reelpost.mail.destination": agent.toSmartHost ? "smart host" : domain,
            "reelpost.message.size": request.body.size,
            "reelpost.message.recipients": request.to.length,
          },
        },
        async (span) => {
          const attempt = await agent.deliver(domain, request, signal);
          const failed = attempt.results.filter(({ outcome }) => outcome !== "delivered");
          const host = attempt.results[0]?.host;
          span.set({
            "reelpost.message.delivered": attempt.results.length - failed.length,
            ...(host !== undefined && { "server.address": host }),
          });
          if (failed.length > 0) span.fail(`${failed.length} of ${attempt.results.length} recipients not delivered`);
          return attempt;
        },
      ),
  };
}
