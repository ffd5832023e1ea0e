import { messageOf as errorText, type Clock, type Ids, type Log } from "../../kernel/index.ts";
import type { QueueBatch, QueueOutcome } from "../runtime/port.ts";
import { retryColumns, type DeadLetters } from "./dead-letters.ts";
import { decideBatch } from "./decide.ts";
import type { FairSlots } from "./fair-slots.ts";
import { queueLimits } from "./limits.ts";
import { toQueueMessage } from "./messages.ts";
import type { MessagesTable } from "./messages-table.ts";
import type { Queue, QueueMessages } from "./port.ts";
import type { QueuesTable } from "./queues-table.ts";
import type { QueueMessageRow } from "./schema.ts";
import { queueOf } from "./settings.ts";

export interface DeliveryDeps {
  queues: QueuesTable;
  table: MessagesTable;
  messages: Pick<QueueMessages, "metrics">;
  deadLetters: DeadLetters;
  /** Runs the queue handler of a worker. */
  dispatch(ref: { account: string; script: string }, batch: QueueBatch): Promise<QueueOutcome>;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
  stop: AbortSignal;
  /** Limits the batches of each account and of the whole process. */
  batchSlots: FairSlots;
  /** True if other queues need the slot of this one. */
  isAwaited(): boolean;
  /** How long a busy queue is delivered before it yields to waiting queues. Default 5 s. */
  yieldAfterMs?: number;
  /** Lease duration: after a crash, messages in delivery are redelivered when their lease expires. Default 30 s. */
  leaseMs?: number;
}

/**
 * Delivers the messages of one queue in this process until the queue has been empty for a while, or yields to others.
 */
export interface QueueDelivery {
  /** Call this when the queue has new messages or changed settings. */
  wake(): void;
  readonly ended: Promise<void>;
}

/** How long this process keeps the lease of an empty queue. Saves two writes per message of a low-traffic queue. */
const IDLE_LINGER_MS = 5000;
/** How often to poll for delayed messages that have become due. */
const POLL_INTERVAL_MS = 1000;
/** Delay before the retry of messages whose worker could not be started. */
const START_RETRY_MS = 2000;
const FAILURE_RETRY_MS = 1000;

export function startDelivery(queueId: string, deps: DeliveryDeps): QueueDelivery {
  const { queues, table, messages, deadLetters, dispatch, clock, ids, log, stop, batchSlots, isAwaited } = deps;
  const { leaseMs = 30_000, yieldAfterMs = 5000 } = deps;
  const token = ids.hex();
  /** Ids of the messages in each running batch, by the token of the batch. */
  const batches = new Map<string, string[]>();
  let signal = Promise.withResolvers<void>();
  const wake = () => signal.resolve();

  /** Resolves with false if another process holds the lease or no worker consumes the queue. */
  async function lease(): Promise<boolean> {
    const now = clock.now();
    return (await queues.acquireLease(queueId, { token, now, until: now + leaseMs })) !== undefined;
  }

  async function wait(ms: number) {
    const timer = new AbortController();
    await Promise.race([signal.promise, clock.sleep(ms, timer.signal).catch(() => {})]);
    timer.abort();
    signal = Promise.withResolvers<void>();
  }

  async function renew() {
    await lease();
    const until = clock.now() + leaseMs;
    await Promise.all([...batches].map(([batch, messageIds]) => table.renew(batch, messageIds, until)));
  }

  async function deliverAll() {
    const startedAt = clock.now();
    let emptySince = startedAt;
    /** The account for which a slot for the next batch is already held. */
    let slotOf: string | undefined;
    try {
      while (!stop.aborted) {
        // Read for each batch, so that changed settings, such as a pause, apply to the next batch.
        const row = await queues.findLeased(queueId, token);
        const queue = row && queueOf(row);
        if (queue?.consumer?.script === undefined || queue.deliveryPaused) return;
        const { batchSize, maxWaitMs, maxConcurrency = queueLimits.consumer.maxConcurrency.default } = queue.consumer;
        const now = clock.now();
        if (isAwaited() && now - startedAt >= yieldAfterMs) return;
        const dueTimes = await table.due(queueId, batchSize);
        const pastDueTimes = dueTimes.filter((time) => time <= now);
        if (pastDueTimes.length === 0) {
          if (batches.size === 0 && (isAwaited() || now - emptySince >= IDLE_LINGER_MS)) return;
          await wait(Math.min(POLL_INTERVAL_MS, (dueTimes[0] ?? Infinity) - now));
          continue;
        }
        emptySince = now;
        const filledAt = pastDueTimes[0]! + maxWaitMs;
        if (pastDueTimes.length < batchSize && filledAt > now) await wait(Math.min(filledAt - now, POLL_INTERVAL_MS));
        else if (batches.size >= maxConcurrency) await wait(POLL_INTERVAL_MS);
        else if (slotOf !== undefined || batchSlots.tryAcquire(queue.account)) {
          slotOf = undefined;
          await begin(queue, batchSize);
        } else if (await batchSlots.acquire(queue.account, stop)) slotOf = queue.account;
      }
    } finally {
      if (slotOf !== undefined) batchSlots.release(slotOf);
    }
  }

  /**
   * Claims a batch and runs it in the background. Takes over the batch slot that the caller acquired, and releases it.
   */
  async function begin(current: Queue, size: number) {
    const batch = ids.hex();
    const now = clock.now();
    let rows: QueueMessageRow[] = [];
    try {
      rows = await table.claim(queueId, size, { token: batch, now, until: now + leaseMs });
    } finally {
      if (rows.length === 0) batchSlots.release(current.account);
    }
    if (rows.length === 0) return;
    batches.set(
      batch,
      rows.map(({ id }) => id),
    );
    void run(current, batch, rows)
      .catch((err: unknown) =>
        log.error(
          { err, queue: current.name },
          `queues: failed to dispatch or settle a batch, will retry: ${errorText(err)}`,
        ),
      )
      .finally(() => {
        batches.delete(batch);
        batchSlots.release(current.account);
        wake();
      });
  }

  async function run(current: Queue, batch: string, claimedRows: QueueMessageRow[]) {
    const consumer = current.consumer!;
    // The process crashed during the last delivery of these messages.
    const exhaustedRows = claimedRows.filter(({ attempts }) => attempts > consumer.maxRetries + 1);
    await deadLetters.move(current, consumer, batch, exhaustedRows);
    const rows = claimedRows.filter((row) => !exhaustedRows.includes(row));
    if (rows.length === 0) return;
    const outcome = await dispatch(
      { account: current.account, script: consumer.script! },
      { queue: current.name, messages: rows.map(toQueueMessage), metrics: await messages.metrics(current) },
    );
    if (!outcome.started) {
      log.warn(
        { queue: current.name, script: consumer.script, ...outcome.exception },
        "queues: failed to start the worker, will retry",
      );
      await returnUndelivered(batch, rows);
      return;
    }
    const { acknowledged, retried, deadLettered: deadLetterIds } = decideBatch(outcome, rows, consumer);
    const now = clock.now();
    await Promise.all([
      table.acknowledge(batch, acknowledged),
      ...[...retried].map(([delay, messageIds]) => table.release(batch, messageIds, retryColumns(now, delay))),
      deadLetters.move(current, consumer, batch, deadLetterIds),
    ]);
  }

  /** Returns messages to the queue without counting an attempt, because the handler did not receive them. */
  const returnUndelivered = (batch: string, rows: readonly QueueMessageRow[]) =>
    Promise.all(
      [...Map.groupBy(rows, ({ attempts }) => attempts)].map(([attempts, groupRows]) =>
        table.release(
          batch,
          groupRows.map(({ id }) => id),
          { due_at: clock.now() + START_RETRY_MS, attempts: attempts - 1 },
        ),
      ),
    );

  async function deliverWhileLeased() {
    if (!(await lease())) return;
    const done = new AbortController();
    const renewal = keepRenewing(done.signal);
    try {
      await deliverAll();
      while (batches.size > 0) await wait(leaseMs);
    } finally {
      done.abort();
      await renewal;
      await queues.releaseLease(queueId, token);
    }
  }

  async function keepRenewing(done: AbortSignal) {
    while (!done.aborted) {
      await clock.sleep(leaseMs / 3, done).catch(() => {});
      if (done.aborted) return;
      await renew().catch((err: unknown) =>
        log.warn({ err, queueId }, `queues: failed to renew leases, will retry: ${errorText(err)}`),
      );
    }
  }

  const deliveryEnd = deliverWhileLeased().catch(async (err: unknown) => {
    log.error({ err, queueId }, `queues: failed to read or lease a queue, will retry: ${errorText(err)}`);
    await clock.sleep(FAILURE_RETRY_MS, stop).catch(() => {});
  });
  return { wake, ended: deliveryEnd };
}
