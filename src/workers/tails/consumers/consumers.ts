import { messageOf, type Clock, type Log } from "../../../kernel/index.ts";
import type { Invocation, InvocationOutcome, TailBatch, WorkerRuntime } from "../../runtime/port.ts";
import type { ScriptRef } from "../../scripts/port.ts";
import { createConsumerLine, type ConsumerLine } from "./line.ts";
import { TAIL_CONSUMER_LIMITS, type TailConsumerLimits } from "./limits.ts";
import { traceItemOf } from "./trace-item.ts";

/** Delivers the trace items of workers to their tail workers (`tail_consumers`), at most once. */
interface TailConsumers {
  /** Delivers the invocations of these workers. Returns the function that stops it. */
  watch(runtime: Pick<WorkerRuntime, "onInvocation">): () => void;
  /** Resolves when all accepted items are delivered or `closeMs` have passed. */
  close(): Promise<void>;
}

interface TailConsumersOptions {
  /** The names of the tail workers of a worker; synchronous if they are known. */
  consumersOf(producer: ScriptRef): readonly string[] | Promise<readonly string[]>;
  /** Calls the tail handler. */
  deliver(consumer: ScriptRef, batch: TailBatch): Promise<InvocationOutcome>;
  clock: Clock;
  log: Log;
  limits?: Partial<TailConsumerLimits>;
  /** Default 5 s. */
  closeMs?: number;
}

/** Maximum number of tail workers whose last log line is remembered. */
const MAX_LOGGED = 1000;

export function createTailConsumers({
  consumersOf,
  deliver,
  clock,
  log,
  limits: given = {},
  closeMs = 5000,
}: TailConsumersOptions): TailConsumers {
  const limits = { ...TAIL_CONSUMER_LIMITS, ...given };
  const lines = new Map<string, ConsumerLine>();
  const logged = new Map<string, { at: number; count: number }>();
  let bytes = 0;
  let lookups = 0;
  let closed = false;

  /** One line per tail worker and interval, with the number of items or calls since the previous line. */
  function warn(ref: ScriptRef, message: string, more: object = {}) {
    const key = `${keyOf(ref)} ${message}`;
    const last = logged.get(key) ?? { at: -Infinity, count: 0 };
    last.count++;
    if (logged.size >= MAX_LOGGED && !logged.has(key)) logged.clear();
    logged.set(key, last);
    if (clock.now() - last.at < limits.logEveryMs) return;
    log.warn({ worker: ref.script, account: ref.account, count: last.count, ...more }, message);
    logged.set(key, { at: clock.now(), count: 0 });
  }

  async function call(ref: ScriptRef, batch: TailBatch): Promise<void> {
    try {
      const { outcome, exception } = await deliver(ref, batch);
      if (outcome !== "ok") warn(ref, "tail workers: a tail handler failed", { outcome, reason: exception?.message });
    } catch (err) {
      warn(ref, `tail workers: failed to call a tail handler: ${messageOf(err)}`, { err });
    }
  }

  function lineOf(ref: ScriptRef): ConsumerLine {
    const key = keyOf(ref);
    const known = lines.get(key);
    if (known !== undefined) return known;
    const line = createConsumerLine({
      call: (batch) => call(ref, batch),
      reserve(size) {
        if (bytes + size > limits.totalBytes) return false;
        bytes += size;
        return true;
      },
      release: (size) => void (bytes -= size),
      onIdle: () => void lines.delete(key),
      limits,
    });
    lines.set(key, line);
    return line;
  }

  function send(invocation: Invocation, consumers: readonly string[]) {
    const { account = "", script, event } = invocation;
    const origins = event.kind === "tail" ? event.origins : [];
    let text: string | undefined;
    for (const consumer of consumers) {
      // Tail workers that consume each other would otherwise call each other forever.
      if (consumer === script || origins.includes(consumer)) continue;
      const ref = { account, script: consumer };
      text ??= JSON.stringify(traceItemOf(invocation));
      if (text.length > limits.batchBytes || !lineOf(ref).push({ text, script, origins }))
        warn(ref, "tail workers: dropped trace items, because the tail worker is too slow");
    }
  }

  async function sendLater(invocation: Invocation, consumers: Promise<readonly string[]>): Promise<void> {
    lookups++;
    try {
      send(invocation, await consumers);
    } catch (err) {
      warn({ account: invocation.account ?? "", script: invocation.script }, "tail workers: failed to look up", {
        err,
      });
    } finally {
      lookups--;
    }
  }

  function onInvocation(invocation: Invocation) {
    const { account = "", script } = invocation;
    if (closed || lookups >= limits.lookups) return;
    const consumers = consumersOf({ account, script });
    if (consumers instanceof Promise) void sendLater(invocation, consumers);
    else if (consumers.length > 0) send(invocation, consumers);
  }

  return {
    watch: (runtime) => runtime.onInvocation(onInvocation),
    async close() {
      closed = true;
      const done = new AbortController();
      const late = clock.sleep(closeMs, done.signal).catch(() => {});
      await Promise.race([Promise.all([...lines.values()].map((line) => line.idle())), late]);
      done.abort();
    },
  };
}

const keyOf = ({ account, script }: ScriptRef) => `${account}/${script}`;
