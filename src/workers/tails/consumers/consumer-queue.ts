import type { TailBatch } from "../../runtime/port.ts";
import type { TailConsumerLimits } from "./limits.ts";

/** A trace item that waits for delivery to a tail worker. */
interface WaitingItem {
  /** The item as JSON. */
  text: string;
  script: string;
  /** See TailBatch. */
  origins: readonly string[];
}

/** The queue of trace items for one tail worker. */
export interface ConsumerQueue {
  /** Adds an item. Returns false if the item was dropped. */
  push(item: WaitingItem): boolean;
  /** Resolves when the queue is empty and no call is running. */
  idle(): Promise<void>;
}

interface ConsumerQueueOptions {
  /** Calls the tail handler. Must not reject. */
  call(batch: TailBatch): Promise<void>;
  /** Reserves memory in the process-wide budget; returns false if the budget is exhausted. */
  reserve(bytes: number): boolean;
  release(bytes: number): void;
  /** Called when the queue is empty and no call is running: the queue can be discarded. */
  onIdle(): void;
  limits: Pick<TailConsumerLimits, "batchItems" | "batchBytes" | "queueItems" | "concurrentCalls">;
}

/** Delivers items immediately, with up to `concurrentCalls` calls; items that arrive meanwhile share the next call. */
export function createConsumerQueue({ call, reserve, release, onIdle, limits }: ConsumerQueueOptions): ConsumerQueue {
  let waitingItems: WaitingItem[] = [];
  let runningCalls = 0;
  let idleWaiters: (() => void)[] = [];

  function takeBatch(): WaitingItem[] {
    let bytes = 0;
    let count = 0;
    while (count < waitingItems.length && count < limits.batchItems) {
      bytes += waitingItems[count]!.text.length;
      if (count > 0 && bytes > limits.batchBytes) break;
      count++;
    }
    const batch = waitingItems.slice(0, count);
    waitingItems = waitingItems.slice(count);
    return batch;
  }

  async function run(): Promise<void> {
    runningCalls++;
    while (waitingItems.length > 0) {
      const batch = takeBatch();
      await call({
        items: `[${batch.map(({ text }) => text).join(",")}]`,
        consumed: batch.map(({ script }) => script),
        origins: [...new Set(batch.flatMap(({ script, origins }) => [script, ...origins]))],
      });
      for (const { text } of batch) release(text.length);
    }
    if (--runningCalls > 0) return;
    onIdle();
    for (const resolve of idleWaiters) resolve();
    idleWaiters = [];
  }

  return {
    push(item) {
      if (waitingItems.length >= limits.queueItems || !reserve(item.text.length)) return false;
      waitingItems.push(item);
      // The call starts in a microtask, so that items that are pushed synchronously share it.
      if (runningCalls < limits.concurrentCalls)
        queueMicrotask(() => runningCalls < limits.concurrentCalls && waitingItems.length > 0 && void run());
      return true;
    },
    idle: () =>
      runningCalls === 0 && waitingItems.length === 0
        ? Promise.resolve()
        : new Promise((resolve) => void idleWaiters.push(resolve)),
  };
}
