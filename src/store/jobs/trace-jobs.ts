import type { TraceHeaders, Tracing } from "../../kernel/tracing.ts";
import type { Jobs } from "./port.ts";

/** Field of a payload with the `traceparent` of the span that created the job. Handlers ignore it. */
const TRACEPARENT = "traceparent";

/** Records a span for each run of a job, in the trace of the work that created it. */
export function traceJobs(jobs: Jobs, tracing: Tracing | undefined): Jobs {
  if (tracing === undefined) return jobs;
  return {
    ...jobs,
    enqueue: (kind, payload, options) => jobs.enqueue(kind, withTrace(payload, tracing), options),
    enqueueClaimed: <Tables>(...[kind, claim, options]: Parameters<typeof jobs.enqueueClaimed<Tables>>) =>
      jobs.enqueueClaimed<Tables>(
        kind,
        async (tx) => (await claim(tx)).map((payload) => withTrace(payload, tracing)),
        options,
      ),
    work: (kind, options, run) =>
      jobs.work(kind, options, (job, context) =>
        tracing.run(
          `job ${kind}`,
          {
            kind: "consumer",
            parent: parentOf(job.payload),
            attributes: { "reelpost.job.id": job.id, "reelpost.job.attempt": job.attempt },
          },
          () => run(job, context),
        ),
      ),
  };
}

function withTrace(payload: unknown, tracing: Tracing): unknown {
  const { traceparent } = tracing.headers();
  return traceparent === undefined || !isRecord(payload) ? payload : { ...payload, [TRACEPARENT]: traceparent };
}

function parentOf(payload: unknown): TraceHeaders {
  const traceparent = isRecord(payload) ? payload[TRACEPARENT] : undefined;
  return typeof traceparent === "string" ? { traceparent } : {};
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
