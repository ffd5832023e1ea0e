import type { TailBatch } from "../../runtime/port.ts";
import type { TailConsumerLimits } from "./limits.ts";

/** A trace item that waits for a tail worker. */
interface WaitingItem {
  /** JSON. */
  text: string;
  script: string;
  /** See TailBatch. */
  origins: readonly string[];
}

/** The items that wait for one tail worker. */
export interface ConsumerLine {
  /** Returns false if the item was dropped. */
  push(item: WaitingItem): boolean;
  /** Resolves when no item waits and no call runs. */
  idle(): Promise<void>;
}

interface ConsumerLineOptions {
  /** Calls the tail handler. Must not reject. */
  call(batch: TailBatch): Promise<void>;
  /** Reserves memory of the process; false if there is none left. */
  reserve(bytes: number): boolean;
  release(bytes: number): void;
  /** No item waits and no call runs: the line can be forgotten. */
  onIdle(): void;
  limits: Pick<TailConsumerLimits, "batchItems" | "batchBytes" | "queueItems" | "calls">;
}

/** Calls a tail worker immediately; items that arrive while `calls` calls run are delivered together afterwards. */
export function createConsumerLine({ call, reserve, release, onIdle, limits }: ConsumerLineOptions): ConsumerLine {
  let waiting: WaitingItem[] = [];
  let running = 0;
  let onDone: (() => void)[] = [];

  function takeBatch(): WaitingItem[] {
    let bytes = 0;
    let count = 0;
    while (count < waiting.length && count < limits.batchItems) {
      bytes += waiting[count]!.text.length;
      if (count > 0 && bytes > limits.batchBytes) break;
      count++;
    }
    const batch = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return batch;
  }

  async function run(): Promise<void> {
    running++;
    while (waiting.length > 0) {
      const batch = takeBatch();
      await call({
        items: `[${batch.map(({ text }) => text).join(",")}]`,
        consumed: batch.map(({ script }) => script),
        origins: [...new Set(batch.flatMap(({ script, origins }) => [script, ...origins]))],
      });
      for (const { text } of batch) release(text.length);
    }
    if (--running > 0) return;
    onIdle();
    for (const tell of onDone) tell();
    onDone = [];
  }

  return {
    push(item) {
      if (waiting.length >= limits.queueItems || !reserve(item.text.length)) return false;
      waiting.push(item);
      // In the next turn, so that items of one turn share a call.
      if (running < limits.calls) queueMicrotask(() => running < limits.calls && waiting.length > 0 && void run());
      return true;
    },
    idle: () =>
      running === 0 && waiting.length === 0 ? Promise.resolve() : new Promise((resolve) => void onDone.push(resolve)),
  };
}
