import assert from "node:assert/strict";
import { test } from "node:test";
import type { SpanOptions, Tracing } from "../../kernel/tracing.ts";
import type { Job, JobContext, Jobs } from "./port.ts";
import { traceJobs } from "./trace-jobs.ts";

const TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

function setUp(headers: { traceparent?: string }) {
  const payloads: unknown[] = [];
  const spans: [name: string, options: SpanOptions][] = [];
  let runJob: (job: Job, context: JobContext) => Promise<void>;
  const jobs: Jobs = {
    enqueue: async (_kind, payload) => String(payloads.push(payload)),
    enqueueClaimed: async (_kind, claim) => payloads.push(...(await claim({} as Parameters<typeof claim>[0]))),
    work: (_kind, _options, run) => {
      runJob = run;
      return { stop: async () => {} };
    },
    get: async () => undefined,
  };
  const tracing: Tracing = {
    run: (name, options, work) => {
      spans.push([name, options]);
      return work({ set: () => {}, fail: () => {} });
    },
    headers: () => headers,
  };
  return {
    payloads,
    spans,
    jobs,
    traced: traceJobs(jobs, tracing),
    run: (payload: unknown) => runJob({ id: "j", kind: "a", payload, attempt: 1 }, {} as JobContext),
  };
}

test("stores the trace context with a job and continues the trace when it runs", async () => {
  const { payloads, spans, traced, run } = setUp({ traceparent: TRACEPARENT });
  await traced.enqueue("a", { uid: "1" });
  await traced.enqueueClaimed("a", async () => [{ uid: "2" }]);
  await traced.enqueue("a", "text");
  assert.deepEqual(payloads, [{ uid: "1", traceparent: TRACEPARENT }, { uid: "2", traceparent: TRACEPARENT }, "text"]);
  const ran: unknown[] = [];
  traced.work("a", { concurrency: 1, leaseMs: 1000 }, async ({ payload }) => void ran.push(payload));
  await run(payloads[0]);
  await run({ uid: "2" });
  assert.equal(ran.length, 2);
  assert.deepEqual(
    spans.map(([name, { parent }]) => [name, parent]),
    [
      ["job a", { traceparent: TRACEPARENT }],
      ["job a", {}],
    ],
  );
});

test("a job created outside a trace has no trace context; without tracing, jobs are not wrapped", async () => {
  const { payloads, traced, jobs } = setUp({});
  await traced.enqueue("a", { uid: "1" });
  assert.deepEqual(payloads, [{ uid: "1" }]);
  assert.equal(traceJobs(jobs, undefined), jobs);
});
