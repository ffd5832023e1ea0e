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

/** A runtime whose workers have these tail workers; `next` resolves with the next call of a handler. */
function fixture(graph: Record<string, string[] | Promise<string[]>>, limits: Partial<TailConsumerLimits> = {}) {
  const runtime = fakeRuntime();
  const calls: { ref: ScriptRef; batch: TailBatch; items: Item[] }[] = [];
  let heard = Promise.withResolvers<void>();
  let gate = Promise.resolve();
  const consumers = createTailConsumers({
    consumersOf: ({ script }) => graph[script] ?? [],
    async deliver(ref, batch) {
      calls.push({ ref, batch, items: JSON.parse(batch.items) as Item[] });
      heard.resolve();
      heard = Promise.withResolvers();
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
    tell: (more: Partial<Invocation>) => runtime.tell({ account: ACCOUNT, ...more }),
    block: (promise: Promise<void>) => void (gate = promise),
    async called(count: number) {
      while (calls.length < count) await heard.promise;
    },
  };
}

describe("tail workers", () => {
  it("receive the invocations of their producers only, in the account of the producer", async () => {
    const { tell, calls, called, close } = fixture({ a: ["t", "u"] });
    tell({ script: "b" });
    tell({ script: "a", logs: logOf("one") });
    await called(2);
    assert.deepEqual(
      calls.map(({ ref, items }) => [ref, items[0]!.scriptName, items[0]!.logs[0]!.message]),
      [
        [{ account: ACCOUNT, script: "t" }, "a", ["one"]],
        [{ account: ACCOUNT, script: "u" }, "a", ["one"]],
      ],
    );
    await close();
    tell({ script: "a" });
    assert.equal(calls.length, 2);
  });

  it("receive invocations that end while the tail workers are looked up", async () => {
    const found = Promise.withResolvers<string[]>();
    const { tell, calls, called } = fixture({ a: found.promise });
    tell({ script: "a" });
    found.resolve(["t"]);
    await called(1);
    assert.equal(calls[0]!.items.length, 1);
  });

  it("receive items that arrived during their calls together, within the limits of a batch", async () => {
    const gate = Promise.withResolvers<void>();
    const { tell, calls, called, block, close } = fixture({ a: ["t"] }, { calls: 1, batchItems: 3, queueItems: 5 });
    block(gate.promise);
    tell({ script: "a" });
    await called(1);
    for (let i = 0; i < 9; i++) tell({ script: "a" });
    gate.resolve();
    await close();
    assert.deepEqual(
      calls.map(({ items }) => items.length),
      [1, 3, 2],
    );
  });

  it("do not use more memory than allowed", async () => {
    const gate = Promise.withResolvers<void>();
    const size = JSON.stringify(traceItemOf(invocationOf({ script: "a" }))).length;
    const { tell, calls, called, block, close } = fixture({ a: ["t"] }, { calls: 1, totalBytes: 2 * size });
    block(gate.promise);
    tell({ script: "a" });
    await called(1);
    for (let i = 0; i < 5; i++) tell({ script: "a" });
    gate.resolve();
    await close();
    assert.deepEqual(
      calls.map(({ items }) => items.length),
      [1, 1],
    );
  });

  it("that consume each other are not called endlessly", async () => {
    const { tell, calls, called } = fixture({ a: ["t"], t: ["u"], u: ["t", "v"], v: [] });
    tell({ script: "a" });
    await called(1);
    tell({ script: "t", event: { kind: "tail", ...calls[0]!.batch } });
    await called(2);
    tell({ script: "u", event: { kind: "tail", ...calls[1]!.batch } });
    await called(3);
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

describe("a trace item", () => {
  it("of a request has its values without redaction", () => {
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
