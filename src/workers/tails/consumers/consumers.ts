import { messageOf, type Clock, type Log } from "../../../kernel/index.ts";
import type { Invocation, InvocationOutcome, TailBatch, WorkerRuntime } from "../../runtime/port.ts";
import type { ScriptRef } from "../../scripts/port.ts";
import { createConsumerQueue, type ConsumerQueue } from "./consumer-queue.ts";
import { TAIL_CONSUMER_LIMITS, type TailConsumerLimits } from "./limits.ts";
import { traceItemOf } from "./trace-item.ts";

/** Delivers trace items at most once to the tail workers in `tail_consumers`. */
interface TailConsumers {
  /** Delivers the invocations that the runtime reports. Returns a function that stops the delivery. */
  watch(runtime: Pick<WorkerRuntime, "onInvocation">): () => void;
  /** Stops accepting items; resolves when the accepted ones have been delivered or `closeMs` has passed. */
  close(): Promise<void>;
}

interface TailConsumersOptions {
  /** Resolves with the names of the tail workers of a worker; synchronous if they are cached. */
  consumersOf(producer: ScriptRef): readonly string[] | Promise<readonly string[]>;
  /** Calls the tail handler. */
  deliver(consumer: ScriptRef, batch: TailBatch): Promise<InvocationOutcome>;
  clock: Clock;
  log: Log;
  limits?: Partial<TailConsumerLimits>;
  /** Default 5 s. */
  closeMs?: number;
}

/** Maximum number of warnings whose last log time is remembered. */
const MAX_LOGGED_WARNINGS = 1000;

export function createTailConsumers({
  consumersOf,
  deliver,
  clock,
  log,
  limits: overrides = {},
  closeMs = 5000,
}: TailConsumersOptions): TailConsumers {
  const limits = { ...TAIL_CONSUMER_LIMITS, ...overrides };
  const queues = new Map<string, ConsumerQueue>();
  const loggedWarnings = new Map<string, { at: number; count: number }>();
  let reservedBytes = 0;
  let runningLookups = 0;
  let isClosed = false;

  /** Logs a warning at most once per interval per tail worker, with the number of occurrences since the last one. */
  function warn(ref: ScriptRef, message: string, fields: object = {}) {
    const key = `${keyOf(ref)} ${message}`;
    const lastWarning = loggedWarnings.get(key) ?? { at: -Infinity, count: 0 };
    lastWarning.count++;
    if (loggedWarnings.size >= MAX_LOGGED_WARNINGS && !loggedWarnings.has(key)) loggedWarnings.clear();
    loggedWarnings.set(key, lastWarning);
    if (clock.now() - lastWarning.at < limits.logEveryMs) return;
    log.warn({ worker: ref.script, account: ref.account, count: lastWarning.count, ...fields }, message);
    loggedWarnings.set(key, { at: clock.now(), count: 0 });
  }

  async function call(ref: ScriptRef, batch: TailBatch): Promise<void> {
    try {
      const { outcome, exception } = await deliver(ref, batch);
      if (outcome !== "ok") warn(ref, "tail workers: tail handler failed", { outcome, reason: exception?.message });
    } catch (err) {
      warn(ref, `tail workers: failed to call tail handler: ${messageOf(err)}`, { err });
    }
  }

  function queueFor(ref: ScriptRef): ConsumerQueue {
    const key = keyOf(ref);
    const existingQueue = queues.get(key);
    if (existingQueue !== undefined) return existingQueue;
    const queue = createConsumerQueue({
      call: (batch) => call(ref, batch),
      reserve(size) {
        if (reservedBytes + size > limits.totalBytes) return false;
        reservedBytes += size;
        return true;
      },
      release: (size) => void (reservedBytes -= size),
      onIdle: () => void queues.delete(key),
      limits,
    });
    queues.set(key, queue);
    return queue;
  }

  function send(invocation: Invocation, consumers: readonly string[]) {
    const { account = "", script, event } = invocation;
    const origins = event.kind === "tail" ? event.origins : [];
    let itemJson: string | undefined;
    for (const consumer of consumers) {
      // Tail workers that consume each other would otherwise call each other endlessly.
      if (consumer === script || origins.includes(consumer)) continue;
      const ref = { account, script: consumer };
      itemJson ??= JSON.stringify(traceItemOf(invocation));
      if (itemJson.length > limits.batchBytes || !queueFor(ref).push({ text: itemJson, script, origins }))
        warn(ref, "tail workers: trace items dropped because the tail worker is too slow");
    }
  }

  async function sendLater(invocation: Invocation, consumers: Promise<readonly string[]>): Promise<void> {
    runningLookups++;
    try {
      send(invocation, await consumers);
    } catch (err) {
      warn(
        { account: invocation.account ?? "", script: invocation.script },
        "tail workers: failed to look up tail workers",
        {
          err,
        },
      );
    } finally {
      runningLookups--;
    }
  }

  function onInvocation(invocation: Invocation) {
    const { account = "", script } = invocation;
    if (isClosed || runningLookups >= limits.concurrentLookups) return;
    const consumers = consumersOf({ account, script });
    if (consumers instanceof Promise) void sendLater(invocation, consumers);
    else if (consumers.length > 0) send(invocation, consumers);
  }

  return {
    watch: (runtime) => runtime.onInvocation(onInvocation),
    async close() {
      isClosed = true;
      const timeoutAborter = new AbortController();
      const timeout = clock.sleep(closeMs, timeoutAborter.signal).catch(() => {});
      await Promise.race([Promise.all([...queues.values()].map((line) => line.idle())), timeout]);
      timeoutAborter.abort();
    },
  };
}

const keyOf = ({ account, script }: ScriptRef) => `${account}/${script}`;
