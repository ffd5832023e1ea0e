import assert from "node:assert/strict";
import { it } from "node:test";
import { createMetrics } from "../kernel/metrics.ts";
import type { Invocation } from "../workers/index.ts";
import { meterWorkers } from "./worker-metrics.ts";

it("counts invocations by worker, event and outcome", async () => {
  let tell: (invocation: Invocation) => void = () => assert.fail("no listener");
  const metrics = meterWorkers(
    { onInvocation: (listener) => ((tell = listener), () => {}) },
    createMetrics({ processMetrics: false }),
  );
  const invocation: Invocation = {
    script: "inbox",
    version: "1",
    event: { kind: "email", id: "m", from: "", to: "b@x", rawSize: 100 },
    outcome: "ok",
    startedAt: new Date(0),
    wallMs: 20,
    logs: [],
    exceptions: [],
  };
  tell(invocation);
  tell({ ...invocation, outcome: "exceededCpu" });
  tell({ ...invocation, event: { kind: "fetch", method: "GET", url: "/" } });
  tell({ ...invocation, event: { kind: "other", name: "default" } });
  const { body } = await metrics.render();
  assert.match(body, /^reelpost_worker_invocations_total\{worker="inbox",event="email",outcome="ok"\} 1$/m);
  assert.match(body, /^reelpost_worker_invocations_total\{worker="inbox",event="email",outcome="exceededCpu"\} 1$/m);
  assert.match(body, /^reelpost_worker_invocations_total\{worker="inbox",event="other",outcome="ok"\} 1$/m);
  assert.match(body, /^reelpost_worker_invocation_seconds_count\{worker="inbox",event="fetch"\} 1$/m);
  assert.doesNotMatch(body, /seconds_count\{worker="inbox",event="other"\}/);
  assert.match(body, /^reelpost_mail_received_bytes_total\{worker="inbox"\} 200$/m);
});
