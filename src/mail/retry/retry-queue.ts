import type { Repetition } from "../../kernel/periodic.ts";
import type { Clock, Ids, Log } from "../../kernel/index.ts";
import {
  localSweeps,
  type Job,
  type JobContext,
  type Jobs,
  type JobWorker,
  type ObjectStore,
  type Sweeps,
} from "../../store/index.ts";
import { createStepRecorder } from "../actions/index.ts";
import type { Spool, MailSource, Trace } from "../messages/index.ts";
import { createBackoff, DEFAULT_BACKOFF_MS, DEFAULT_LIFETIME_MS } from "../outbound/index.ts";
import type { Bounces } from "../bounces/index.ts";
import { createAttempt, BOUNCE_RETRY_MS, type RetryPayload } from "./attempt.ts";
import { createRetryBodies } from "./bodies.ts";
import type { RetryQueue, RetryRecipient, Retry } from "./types.ts";

export interface RetryQueueOptions {
  objects: ObjectStore;
  jobs: Jobs;
  /** Default: sweeps run in this process only. */
  sweeps?: Pick<Sweeps, "every">;
  spool: Pick<Spool, "collect">;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  trace: Trace;
  log: Log;
  /** Sends bounces. If omitted, failures are only traced. */
  bounces?: Pick<Bounces, "bounce">;
  limits?: Partial<RetryLimits>;
}

interface RetryLimits {
  /** Recipients still queued after this time are bounced. Default 5 days (RFC 5321 4.5.4.1). */
  lifetimeMs: number;
  /** Delay after each attempt; the last one repeats until the lifetime ends. */
  backoffMs: readonly number[];
  /** Maximum number of concurrent messages, and of concurrent recipients per message. */
  messages: number;
  recipients: number;
  leaseMs: number;
  pollMs: number;
}

const DEFAULT_RETRY_LIMITS: RetryLimits = {
  lifetimeMs: DEFAULT_LIFETIME_MS,
  backoffMs: DEFAULT_BACKOFF_MS,
  messages: 5,
  recipients: 5,
  leaseMs: 60_000,
  pollMs: 1000,
};

const JOB_KIND = "mail.held";
/** Retries are limited by age, not by the number of attempts. */
const MAX_ATTEMPTS = 100_000;
const SWEEP_INTERVAL_MS = 6 * 60 * 60_000;

export function createRetryQueue({
  objects,
  jobs,
  sweeps = localSweeps,
  spool,
  clock,
  ids,
  trace,
  log,
  bounces,
  limits: changes,
}: RetryQueueOptions): RetryQueue {
  const limits = { ...DEFAULT_RETRY_LIMITS, ...changes };
  const bodies = createRetryBodies(objects);
  const backoff = createBackoff(limits.backoffMs);
  const recordStep = createStepRecorder({ trace, clock });
  const attempt = createAttempt({ clock, recordStep, log, bounces, limits });
  let worker: JobWorker | undefined;
  let sweeper: Repetition | undefined;

  /** Content older than twice the lifetime of a job cannot have a job. */
  const sweep = () => bodies.sweep(clock.now() - 2 * (limits.lifetimeMs + BOUNCE_RETRY_MS));

  async function run(job: Job, retry: Retry, context: JobContext): Promise<void> {
    const retryPayload = job.payload as RetryPayload;
    // The result of an earlier attempt, if there was one.
    const waitingRecipients =
      ((await jobs.get(job.id))?.progress as RetryRecipient[] | undefined) ?? retryPayload.recipients;
    const remaining =
      waitingRecipients.length === 0
        ? []
        : await withBody(retryPayload, waitingRecipients, (source) =>
            attempt(retryPayload, waitingRecipients, source, retry, context),
          );
    if (remaining.length > 0)
      throw new Error(
        `${remaining.length} recipients are still deferred: ${remaining[0]!.reply.code} ${remaining[0]!.reply.text}`,
      );
    await bodies.delete(retryPayload.body);
  }

  async function withBody(
    retryPayload: RetryPayload,
    waitingRecipients: RetryRecipient[],
    use: (source: MailSource) => Promise<RetryRecipient[]>,
  ): Promise<RetryRecipient[]> {
    const body = await bodies.open(retryPayload.body);
    if (body === undefined) {
      log.error(
        { message: retryPayload.message, body: retryPayload.body },
        "retry queue: the content of a message is missing",
      );
      for (const { rcpt, reply, account, zone } of waitingRecipients)
        recordStep(
          retryPayload.message,
          "bounced",
          { ...reply, held: true, told: false, lost: true },
          { rcpt, account, zone },
        );
      return [];
    }
    const source = await spool.collect(body.read() as AsyncIterable<Uint8Array>, { maxBytes: body.size });
    try {
      // Uses another name in the spool, because a worker may still use the first copy.
      return await use({ ...source, id: retryPayload.message });
    } finally {
      await source.discard();
    }
  }

  return {
    async add({ envelope, source, verdict, recipients }) {
      const at = clock.now();
      const body = await bodies.put(ids.hex(), at, source);
      const retryPayload: RetryPayload = { message: source.id, body, at, envelope, verdict, recipients };
      const wait = recipients.every(({ bounce }) => bounce) ? 0 : backoff(1);
      // Even after a failure the database may have stored the job, so the body is kept until it is swept.
      await jobs.enqueue(JOB_KIND, retryPayload, { runAt: new Date(at + wait), attempts: MAX_ATTEMPTS });
    },
    start(retry) {
      worker ??= jobs.work(
        JOB_KIND,
        {
          concurrency: limits.messages,
          leaseMs: limits.leaseMs,
          pollMs: limits.pollMs,
          backoff: (attemptCount) => backoff(attemptCount + 1),
        },
        (job, context) => run(job, retry, context),
      );
      sweeper ??= sweeps.every(SWEEP_INTERVAL_MS, sweep, { name: "retry queue: sweep", log });
      void sweeper.run();
    },
    async stop() {
      await Promise.all([sweeper?.stop(), worker?.stop()]);
    },
  };
}
