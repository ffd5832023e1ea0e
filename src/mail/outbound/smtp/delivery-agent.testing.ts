import { after } from "node:test";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import { resolverOf, type Sink } from "../outbound.testing.ts";
import type { DeliveryAttempt } from "../types.ts";
import { createDeliveryAgent, type DeliveryAgentOptions } from "./delivery-agent.ts";

export const NEVER = new AbortController().signal;

const dns = resolverOf({
  "there.example": { mx: [[10, "mx.there.example"]] },
  "mx.there.example": { a: ["127.0.0.1"] },
});

export function open(sink: Pick<Sink, "port">, more: Partial<DeliveryAgentOptions> = {}) {
  const clock = createManualClock(0);
  const agent = createDeliveryAgent({
    clock,
    log: silentLog,
    name: "out.example",
    resolver: dns,
    port: sink.port,
    ...more,
  });
  after(() => agent.close());
  return { ...agent, clock };
}

export const resultLines = ({ results }: DeliveryAttempt) =>
  results.map(
    ({ rcpt, outcome, reply }) => `${rcpt.split("@")[0]} ${outcome} ${reply.code} ${reply.enhanced} ${reply.text}`,
  );

// ---- TLS
