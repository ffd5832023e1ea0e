import { after } from "node:test";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import { resolverOf, type Sink } from "../outbound.testing.ts";
import type { Carried } from "../types.ts";
import { createCarrier, type CarrierOptions } from "./carrier.ts";

export const NEVER = new AbortController().signal;

const dns = resolverOf({
  "there.example": { mx: [[10, "mx.there.example"]] },
  "mx.there.example": { a: ["127.0.0.1"] },
});

export function open(sink: Pick<Sink, "port">, more: Partial<CarrierOptions> = {}) {
  const clock = createManualClock(0);
  const carrier = createCarrier({
    clock,
    log: silentLog,
    name: "out.example",
    resolver: dns,
    port: sink.port,
    ...more,
  });
  after(() => carrier.close());
  return { ...carrier, clock };
}

export const resultLines = ({ results }: Carried) =>
  results.map(
    ({ rcpt, outcome, reply }) => `${rcpt.split("@")[0]} ${outcome} ${reply.code} ${reply.enhanced} ${reply.text}`,
  );

// ---- TLS
