import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silentLog, systemClock } from "../../../kernel/index.ts";
import type { Invocation, TailBatch } from "../../runtime/port.ts";
import type { ScriptRef } from "../../scripts/port.ts";
import { ACCOUNT, fakeRuntime, invocationOf, logOf } from "../tails.testing.ts";
import { createTailConsumers } from "./consumers.ts";
import type { TailConsumerLimits } from "./limits.ts";
import { traceItemOf } from "./trace-item.ts";

type Item = { scriptName: string; logs: { message: unknown[] }[] };

/**
 * Resolves with a runtime whose workers have the tail workers in `graph`; `untilCalled` waits for calls to tail
 * handlers.
 */
function fixture(graph: Record<string, string[] | Promise<string[]>>, limits: Partial<TailConsumerLimits> = {}) {
  const runtime = fakeRuntime();
  const calls: { ref: ScriptRef; batch: TailBatch; items: Item[] }[] = [];
  let nextCall = Promise.withResolvers<void>();
  let gate = Promise.resolve();
  const consumers = createTailConsumers({
    consumersOf: ({ script }) => graph[script] ?? [],
    async deliver(ref, batch) {
      calls.push({ ref, batch, items: JSON.parse(batch.items) as Item[] });
      nextCall.resolve();
      nextCall = Promise.withResolvers();
      await gate;
      return { outcome: "ok" };
    },
    clock: systemClock,
    log: silentLog,
    limits,
  });
  consumers.watch(runtime);
  return {
    ...consumers,
    calls,
    emit: (more: Partial<Invocation>) => runtime.emit({ account: ACCOUNT, ...more }),
    block: (promise: Promise<void>) => void (gate = promise),
    async untilCalled(count: number) {
      while (calls.length < count) await nextCall.promise;
    },
  };
}

describe("tail workers", () => {
  it("receive only the invocations of their producers, in the producer's account", async () => {
    const { emit, calls, untilCalled, close } = fixture({ a: ["t", "u"] });
    emit({ script: "b" });
    emit({ script: "a", logs: logOf("one") });
    await untilCalled(2);
    assert.deepEqual(
      calls.map(({ ref, items }) => [ref, items[0]!.scriptName, items[0]!.logs[0]!.message]),
      [
        [{ account: ACCOUNT, script: "t" }, "a", ["one"]],
        [{ account: ACCOUNT, script: "u" }, "a", ["one"]],
      ],
    );
    await close();
    emit({ script: "a" });
    assert.equal(calls.length, 2);
  });

  it("receive invocations that end while tail workers are being looked up", async () => {
    const lookup = Promise.withResolvers<string[]>();
    const { emit, calls, untilCalled } = fixture({ a: lookup.promise });
    emit({ script: "a" });
    lookup.resolve(["t"]);
    await untilCalled(1);
    assert.equal(calls[0]!.items.length, 1);
  });

  it("receive items that arrive during a call in batches of limited size", async () => {
    const gate = Promise.withResolvers<void>();
    const { emit, calls, untilCalled, block, close } = fixture(
      { a: ["t"] },
      { concurrentCalls: 1, batchItems: 3, queueItems: 5 },
    );
    block(gate.promise);
    emit({ script: "a" });
    await untilCalled(1);
    for (let i = 0; i < 9; i++) emit({ script: "a" });
    gate.resolve();
    await close();
    assert.deepEqual(
      calls.map(({ items }) => items.length),
      [1, 3, 2],
    );
  });

  it("lose items beyond the memory limit", async () => {
    const gate = Promise.withResolvers<void>();
    const size = JSON.stringify(traceItemOf(invocationOf({ script: "a" }))).length;
    const { emit, calls, untilCalled, block, close } = fixture(
      { a: ["t"] },
      { concurrentCalls: 1, totalBytes: 2 * size },
    );
    block(gate.promise);
    emit({ script: "a" });
    await untilCalled(1);
    for (let i = 0; i < 5; i++) emit({ script: "a" });
    gate.resolve();
    await close();
    assert.deepEqual(
      calls.map(({ items }) => items.length),
      [1, 1],
    );
  });

  it("are not called endlessly if they consume each other", async () => {
    const { emit, calls, untilCalled } = fixture({ a: ["t"], t: ["u"], u: ["t", "v"], v: [] });
    emit({ script: "a" });
    await untilCalled(1);
    emit({ script: "t", event: { kind: "tail", ...calls[0]!.batch } });
    await untilCalled(2);
    emit({ script: "u", event: { kind: "tail", ...calls[1]!.batch } });
    await untilCalled(3);
    assert.deepEqual(
      calls.map(({ ref, batch }) => [ref.script, batch.consumed, batch.origins]),
      [
        ["t", ["a"], ["a"]],
        ["u", ["t"], ["t", "a"]],
        ["v", ["u"], ["u", "t", "a"]],
      ],
    );
  });
});

describe("traceItemOf", () => {
  it("includes the unredacted values of a request", () => {
    const url = "/?key=0123456789abcdef0123456789ABCDEF";
    const event = {
      kind: "fetch" as const,
      method: "GET",
      url,
      headers: { host: "w.example", cookie: "REDACTED" },
      allHeaders: { host: "w.example", cookie: "a=b" },
    };
    const item = traceItemOf(invocationOf({ event }));
    assert.deepEqual(item.unredacted, { url: `http://w.example${url}`, headers: event.allHeaders });
    assert.deepEqual(item.event, {
      request: { url: "http://w.example/?key=REDACTED", method: "GET", headers: event.headers, cf: {} },
    });
  });
});
