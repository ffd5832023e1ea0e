import { messageOf, type Clock, type Ids, type Log } from "../../kernel/index.ts";
import type { Events } from "../../store/index.ts";
import { startDelivery, type Delivery, type DeliveryDeps } from "./delivery.ts";
import { QUEUES_TOPIC } from "./queues.ts";

interface DeliveriesDeps extends Omit<DeliveryDeps, "stop"> {
  events: Events;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
  /** True if no other process uses the database: leases of an earlier run are ended immediately. */
  alone: boolean;
  /** How often to look for messages that have become due. Default 1 s; also limits the precision of delays. */
  pollMs?: number;
  /** Number of queues that this process delivers concurrently. Default 100. */
  maxQueues?: number;
}

interface Deliveries {
  /** Begins no further batches; resolves when the running ones have ended. */
  close(): Promise<void>;
}

const PAGE = 100;

/**
 * Delivers the messages of queues to the workers that consume them. With any number of processes, one of them delivers
 * the messages of a queue at a time.
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

  /** Pages through the queues, so that a few that this process cannot lease do not hide the others. */
  async function look() {
    for (let after: string | undefined = ""; after !== undefined && running.size < maxQueues;) {
      const ready: { queue_id: string }[] = await queues.ready(clock.now(), after, PAGE);
      if (stop.signal.aborted) return;
      for (const { queue_id } of ready) if (running.size < maxQueues && !running.has(queue_id)) start(queue_id);
      after = ready.length < PAGE ? undefined : ready.at(-1)?.queue_id;
    }
  }

  async function run() {
    if (alone) await queues.reclaim(clock.now());
    while (!stop.signal.aborted) {
      await look().catch((err: unknown) =>
        log.error({ err }, `queues: failed to look for messages, will retry: ${messageOf(err)}`),
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
  const looking = run().catch((err: unknown) => log.error({ err }, `queues: delivery stopped: ${messageOf(err)}`));

  return {
    async close() {
      unsubscribe();
      stop.abort();
      for (const delivery of running.values()) delivery.wake();
      await looking;
      await Promise.all([...running.values()].map(({ ended }) => ended));
    },
  };
}
