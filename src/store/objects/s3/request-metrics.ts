import type { Metrics } from "../../../kernel/metrics.ts";
import { isStoreError } from "../../errors.ts";
import type { S3Client } from "./client.ts";

/** Counts requests to the S3 server. All labels are from fixed sets. */
export interface RequestMetrics {
  /** Counts each attempt that this client sends. */
  observe(client: S3Client): void;
  /** A request failed, and is not retried. Other responses, such as 404, are results. */
  failed(err: unknown): void;
}

const FAILURES = ["objectsUnreachable", "objectsDenied", "bucketMissing", "clockSkew", "bucketFull"] as const;

export function createRequestMetrics(metrics: Pick<Metrics, "counter" | "histogram"> | undefined): RequestMetrics {
  if (metrics === undefined) return { observe() {}, failed() {} };
  const requests = metrics.counter(
    "reelpost_object_store_requests_total",
    "Requests to the S3 server, including retries, by status class; none: no response",
    ["operation", "status"],
  );
  const seconds = metrics.histogram(
    "reelpost_object_store_request_seconds",
    "Time until the S3 server responds; includes sending the request body, but not receiving an object",
    { labels: ["operation"] },
  );
  const failures = metrics.counter("reelpost_object_store_failures_total", "Requests that failed after all retries", [
    "error",
  ]);

  return {
    observe(client) {
      client.middlewareStack.add(
        (next, context) => async (args) => {
          const operation = String(context.commandName).replace(/Command$/, "");
          const begunAt = performance.now();
          let status = "none";
          try {
            const result = await next(args);
            status = "2xx";
            return result;
          } catch (err) {
            status = statusClassOf(err);
            throw err;
          } finally {
            seconds.observe({ operation }, (performance.now() - begunAt) / 1000);
            requests.inc({ operation, status });
          }
        },
        // After the middleware that signs: the time to obtain credentials is not that of a request.
        { step: "finalizeRequest", priority: "low", name: "requestMetrics" },
      );
    },
    failed(err) {
      const error = FAILURES.find((kind) => isStoreError(err, kind));
      if (error !== undefined) failures.inc({ error });
    },
  };
}

/** "none" without a response. The SDK changes the status of a 200 response that contains an error to 503. */
function statusClassOf(err: unknown): string {
  const status = (err as { $metadata?: { httpStatusCode?: number } } | null)?.$metadata?.httpStatusCode;
  return status === undefined ? "none" : `${Math.floor(status / 100)}xx`;
}
