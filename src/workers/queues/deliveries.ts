import { messageOf } from "../../kernel/index.ts";
import type { Events } from "../../store/index.ts";
import { startDelivery, type QueueDelivery, type DeliveryDeps } from "./delivery.ts";
import { createFairSlots } from "./fair-slots.ts";
import { QUEUES_TOPIC } from "./queues.ts";

export interface DeliveryOptions extends Pick<DeliveryDeps, "leaseMs" | "yieldAfterMs"> {
  /** True if no other process uses the database. Leases of a previous run are then ended immediately. */
  alone?: boolean;
  /** How often to poll for messages that have become due. Default 1 s. Limits the precision of delays. */
  pollMs?: number;
  /** Maximum number of queues from which this process delivers concurrently. Default 200. One account gets half. */
  maxQueues?: number;
  /** Maximum number of batches that run concurrently in this process. Default 500. One account gets half. */
  maxBatches?: number;
}

interface DeliveriesDeps extends DeliveryOptions, Omit<DeliveryDeps, "stop" | "batchSlots" | "isAwaited"> {
  events: Events;
}

interface Deliveries {
  /** Stops starting batches. Resolves when the running batches have ended. */
  close(): Promise<void>;
}

/**
 * Delivers queue messages to the workers that consume them. If there are several processes, only one at a time
 * delivers messages from a given queue. Accounts share the capacity of a process: slow or busy queues of one account
 * do not stop those of others.
 */
export function createDeliveries({
  events,
  alone,
  pollMs = 1000,
  maxQueues = 200,
  maxBatches = 500,
  ...deps
}: DeliveriesDeps): Deliveries {
  const { clock, log, queues } = deps;
  const stopAborter = new AbortController();
  const runningDeliveries = new Map<string, QueueDelivery>();
  let wakeSignal = Promise.withResolvers<void>();

  const queueSlots = createFairSlots(maxQueues);
  const batchSlots = createFairSlots(maxBatches);
  /** Accounts with ready queues for which the last poll found no slot. */
  let waiting = new Set<string>();

  const isAwaited = (account: string) => waiting.has(account) || (waiting.size > 0 && queueSlots.free === 0);

  function start(account: string, queueId: string) {
    queueSlots.tryAcquire(account);
    const delivery = startDelivery(queueId, {
      ...deps,
      batchSlots,
      isAwaited: () => isAwaited(account),
      stop: stopAborter.signal,
    });
    runningDeliveries.set(queueId, delivery);
    void delivery.ended.then(() => {
      runningDeliveries.delete(queueId);
      queueSlots.release(account);
      if (waiting.size > 0) wakeSignal.resolve();
    });
  }

  /** Starts one queue at a time, of the account that holds the fewest slots. */
  async function startReadyQueues() {
    const now = clock.now();
    const accounts = new Set(await queues.listReadyAccounts(now));
    const ready = new Map<string, string[]>();
    for (let account; (account = queueSlots.next(accounts)) !== undefined;) {
      if (!ready.has(account)) ready.set(account, await queues.listReady(account, now, maxQueues));
      if (stopAborter.signal.aborted) return;
      const queueId = ready.get(account)!.pop();
      if (queueId === undefined) accounts.delete(account);
      else if (!runningDeliveries.has(queueId)) start(account, queueId);
    }
    waiting = accounts;
    if (waiting.size > 0) for (const delivery of runningDeliveries.values()) delivery.wake();
  }

  async function run() {
    if (alone) await queues.releaseAllLeases(clock.now());
    while (!stopAborter.signal.aborted) {
      await startReadyQueues().catch((err: unknown) =>
        log.error({ err }, `queues: failed to poll for due messages, will retry: ${messageOf(err)}`),
      );
      await Promise.race([wakeSignal.promise, clock.sleep(pollMs, stopAborter.signal).catch(() => {})]);
      wakeSignal = Promise.withResolvers<void>();
    }
  }

  const unsubscribe = events.subscribe(QUEUES_TOPIC, (id) => {
    const delivery = runningDeliveries.get(id);
    if (delivery !== undefined) delivery.wake();
    else if (queueSlots.free > 0) wakeSignal.resolve();
  });
  const pollLoop = run().catch((err: unknown) => log.error({ err }, `queues: delivery stopped: ${messageOf(err)}`));

  return {
    async close() {
      unsubscribe();
      stopAborter.abort();
      for (const delivery of runningDeliveries.values()) delivery.wake();
      await pollLoop;
      await Promise.all([...runningDeliveries.values()].map(({ ended }) => ended));
    },
  };
}
