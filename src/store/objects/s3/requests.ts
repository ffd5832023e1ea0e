import { setTimeout as sleep } from "node:timers/promises";
import type { S3Location } from "./address.ts";
import type { S3Client, S3Sdk } from "./client.ts";
import { toS3StoreError, isRetriable, isSlowDown } from "./errors.ts";
import { createRequestLimiter } from "./limiter.ts";
import type { RequestMetrics } from "./request-metrics.ts";

/** Sends requests to one bucket, with retries. */
export interface S3Requests {
  readonly location: S3Location;
  readonly sdk: S3Sdk;
  /** Returns the bucket and the full key of an object, as parameters of a command. */
  at(key: string): { Bucket: string; Key: string };
  /**
   * Sends an idempotent request, with up to six attempts. `run` passes the signal to the SDK, and reads the response
   * completely or returns its stream. Throws StoreError objectsUnreachable, objectsDenied, bucketMissing, clockSkew,
   * bucketFull; other responses, such as 404, are errors of the SDK.
   */
  send<Output>(
    key: string,
    run: (client: S3Client, options: { abortSignal: AbortSignal }) => Promise<Output>,
    options?: SendOptions,
  ): Promise<Output>;
  /** Counts the last attempt of a request, and returns its error as a StoreError if the user can fix it. */
  failure(err: unknown, key: string): unknown;
}

interface SendOptions {
  /** Time limit for one attempt. Default 15 s. */
  attemptMs?: number;
  /** No attempt starts after this time. Default 30 s. */
  deadlineMs?: number;
  /** Maximum number of attempts. Default 6. */
  attempts?: number;
}

const CONCURRENT_REQUESTS = 64;
/**
 * For requests with bodies of several MiB, which take longer on slow connections. A dead connection is closed earlier,
 * when it has been idle.
 */
export const BODY_TIMEOUT = { attemptMs: 180_000, deadlineMs: 60_000 };
const ATTEMPTS = 6;
const ATTEMPT_MS = 15_000;
const DEADLINE_MS = 30_000;
const FIRST_PAUSE_MS = 100;
const SLOW_DOWN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5_000;

export function createS3Requests(
  location: S3Location,
  { sdk, client }: { sdk: S3Sdk; client: S3Client },
  metrics: RequestMetrics,
): S3Requests {
  metrics.observe(client);
  const limiter = createRequestLimiter(CONCURRENT_REQUESTS);

  async function attempt<Output>(
    run: (client: S3Client, options: { abortSignal: AbortSignal }) => Promise<Output>,
    { attemptMs, waitMs }: { attemptMs: number; waitMs: number },
  ): Promise<Output> {
    await limiter.acquire(waitMs);
    const timeout = new AbortController();
    const timer = setTimeout(
      () => timeout.abort(new Error(`no response within ${attemptMs / 1000} s`)),
      attemptMs,
    ).unref();
    try {
      const output = await run(client, { abortSignal: timeout.signal });
      limiter.succeeded();
      return output;
    } catch (err) {
      if (isSlowDown(err)) limiter.slowDown();
      throw timeout.signal.aborted ? timeout.signal.reason : err;
    } finally {
      // A stream that `run` has returned has no time limit: a slow reader is not an error.
      clearTimeout(timer);
      limiter.release();
    }
  }

  function failure(err: unknown, key: string): unknown {
    const converted = toS3StoreError(err, location, key);
    metrics.failed(converted);
    return converted;
  }

  return {
    location,
    sdk,
    failure,
    at: (key) => ({ Bucket: location.bucket, Key: location.prefix + key }),
    async send(key, run, { attemptMs = ATTEMPT_MS, deadlineMs = DEADLINE_MS, attempts = ATTEMPTS } = {}) {
      const deadline = performance.now() + deadlineMs;
      for (let count = 1; ; count++) {
        try {
          return await attempt(run, { attemptMs, waitMs: Math.max(0, deadline - performance.now()) });
        } catch (err) {
          const pauseMs = retryDelay(count, isSlowDown(err));
          if (count === attempts || !isRetriable(err) || performance.now() + pauseMs > deadline) {
            // After a single attempt, the caller decides whether the request has failed.
            throw attempts === 1 ? toS3StoreError(err, location, key) : failure(err, key);
          }
          await sleep(pauseMs, undefined, { ref: false });
        }
      }
    },
  };
}

/** Returns an exponential backoff delay with jitter, so that several processes do not retry at the same time. */
export function retryDelay(count: number, slowDown = false): number {
  const ms = (slowDown ? SLOW_DOWN_PAUSE_MS : FIRST_PAUSE_MS) * 2 ** (count - 1);
  return Math.min(MAX_PAUSE_MS, ms) * (0.5 + Math.random() / 2);
}
