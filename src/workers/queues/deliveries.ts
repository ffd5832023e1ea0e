import { messageOf, type Clock, type Ids, type Log } from "../../kernel/index.ts";
import type { Events } from "../../store/index.ts";
import { startDelivery, type Delivery, type DeliveryDeps } from "./delivery.ts";
import { QUEUES_TOPIC } from "./queues.ts";

interface DeliveriesDeps extends Omit<DeliveryDeps, "stop"> {
  events: Events;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
  /** True if no other process uses the database. Leases of an earlier run are then ended immediately. */
  alone: boolean;
  /** How often to poll for messages that have become due. Default 1 s. Limits the precision of delays. */
  pollMs?: number;
  /** Maximum number of queues from which this process delivers concurrently. Default 100. */
  maxQueues?: number;
}

interface Deliveries {
  /** Starts no further batches. Resolves when the running ones have ended. */
  close(): Promise<void>;
}

const PAGE_SIZE = 100;

/**
 * Delivers queue messages to the workers that consume them. If there are several processes, only one at a time
 * delivers messages from a given queue.
 */
export function createDeliveries({
  events,
  alone,
  pollMs = 1000,
  maxQueues = 100,
  ...deps
}: DeliveriesDeps): Deliveries {
  const { clock, log, queues } = deps;
  const stop = new AbortController();
  const running = new Map<string, Delivery>();
  let wake = Promise.withResolvers<void>();

  function start(queueId: string) {
    const delivery = startDelivery(queueId, { ...deps, stop: stop.signal });
    running.set(queueId, delivery);
    void delivery.ended.then(() => running.delete(queueId));
  }

  /** Pages through all queues, so that those that this process cannot lease do not hide the others. */
  async function startReadyQueues() {
    for (let after: string | undefined = ""; after !== undefined && running.size < maxQueues;) {
      const ready: { queue_id: string }[] = await queues.listReady(clock.now(), after, PAGE_SIZE);
      if (stop.signal.aborted) return;
      for (const { queue_id } of ready) if (running.size < maxQueues && !running.has(queue_id)) start(queue_id);
      after = ready.length < PAGE_SIZE ? undefined : ready.at(-1)?.queue_id;
    }
  }

  async function run() {
    if (alone) await queues.releaseAllLeases(clock.now());
    while (!stop.signal.aborted) {
      await startReadyQueues().catch((err: unknown) =>
        log.error({ err }, `queues: failed to poll for due messages, will retry: ${messageOf(err)}`),
      );
      await Promise.race([wake.promise, clock.sleep(pollMs, stop.signal).catch(() => {})]);
      wake = Promise.withResolvers<void>();
    }
  }

  const unsubscribe = events.subscribe(QUEUES_TOPIC, (id) => {
    const delivery = running.get(id);
    if (delivery !== undefined) delivery.wake();
    else wake.resolve();
  });
  const polling = run().catch((err: unknown) => log.error({ err }, `queues: delivery stopped: ${messageOf(err)}`));

  return {
    async close() {
      unsubscribe();
      stop.abort();
      for (const delivery of running.values()) delivery.wake();
      await polling;
      await Promise.all([...running.values()].map(({ ended }) => ended));
    },
  };
}
