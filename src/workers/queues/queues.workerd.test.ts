import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { onEveryDatabase } from "../../../test/support/databases.ts";
import { randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { createLocalEvents } from "../../store/index.ts";
import type { Invocation, WorkerRuntime } from "../runtime/port.ts";
import { noServices, scriptOf, startRuntime } from "../runtime/runtime.testing.ts";
import { createQueueStore, queueMigrations, type QueueStore } from "./index.ts";

const QUEUE = "jobs";
/** Sends what the request asks for, and logs what the handler receives. */
const WORKER = `
const shown = (body) =>
  body instanceof ArrayBuffer ? { bytes: [...new Uint8Array(body)] }
  : body instanceof Map ? { map: [...body] }
  : body instanceof Date ? { date: body.getTime() }
  : body;
export default {
  async fetch(request, env) {
    try {
      return Response.json((await SENDS[new URL(request.url).pathname](env.QUEUE)) ?? null);
    } catch (error) {
      return Response.json({ error: error.message }, { status: 500 });
    }
  },
  async queue(batch, env, ctx) {
    console.log(JSON.stringify(batch.messages.map(({ id, body, attempts, timestamp }) =>
      ({ queue: batch.queue, counted: batch.metadata.metrics.backlogCount > 0, id, body: shown(body), attempts, recent: Math.abs(Date.now() - timestamp) < 60_000 }))));
    for (const message of batch.messages) {
      if (message.body?.retry && batch.queue === "jobs") message.retry({ delaySeconds: 0 });
      if (message.body?.ackThenThrow) { message.ack(); throw new RangeError("after ack"); }
    }
  },
};`;
const SENDS = `
const SENDS = {
  "/types": (queue) => queue.sendBatch([
    { body: { a: 1 } },
    { body: "text é", contentType: "text" },
    { body: new Uint8Array([1, 2, 255]), contentType: "bytes" },
    { body: new Map([["k", new Date(5)]]), contentType: "v8" },
    { body: new Date(7), contentType: "v8" },
  ]),
  "/one": (queue) => queue.send({ one: true }),
  "/delayed": (queue) => queue.send("later", { delaySeconds: 1 }),
  "/retry": (queue) => queue.send({ retry: true }),
  "/ack": (queue) => queue.sendBatch([{ body: { ackThenThrow: true } }, { body: "other" }]),
  "/large": (queue) => queue.send("x".repeat(128_001), { contentType: "text" }),
  "/many": (queue) => queue.sendBatch(Array.from({ length: 101 }, () => ({ body: 1 }))),
  "/total": (queue) => queue.sendBatch(Array.from({ length: 3 }, () => ({ body: "x".repeat(100_000), contentType: "text" }))),
  "/slow": (queue) => queue.send(1, { delaySeconds: 100_000 }),
  "/metrics": (queue) => queue.metrics(),
};`;

onEveryDatabase((engine) =>
  describe("a worker that sends to a queue and consumes it", () => {
    let store: QueueStore;
    let runtime: WorkerRuntime;
    let base = "";
    const records: Invocation[] = [];
    let heard = Promise.withResolvers<void>();
    const ends: (() => Promise<void>)[] = [];

    before(async () => {
      const { db } = await engine.open({ after: (end) => void ends.push(end) }, queueMigrations);
      const events = createLocalEvents({ log: silentLog });
      store = createQueueStore({ db, events, clock: systemClock, ids: randomIds, log: silentLog, createsQueues: true });
      runtime = startRuntime({ services: { ...noServices, queue: store } });
      runtime.onInvocation((record) => {
        records.push(record);
        heard.resolve();
        heard = Promise.withResolvers();
      });
      const deliveries = store.deliver(({ script }, batch) => runtime.queue(script, batch), { pollMs: 50 });
      ends.push(
        () => events.close(),
        () => runtime.close(),
        () => deliveries.close(),
      );
      await runtime.deploy(
        scriptOf(SENDS + WORKER, { bindings: [{ type: "queue", name: "QUEUE", queue_name: QUEUE }] }),
      );
      await store.queues.setConsumersOf("", "test", [
        { queue: QUEUE, type: "worker", maxWaitMs: 0, maxRetries: 1, deadLetterQueue: "dead" },
        { queue: "dead", type: "worker", maxWaitMs: 0 },
      ]);
      const server = createServer((request, response) => void runtime.fetch("test", request, response));
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
      base = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
      ends.push(async () => {
        server.closeAllConnections();
        server.close();
      });
    });
    after(async () => {
      for (const end of ends.reverse()) await end();
    });

    const call = async (path: string) => (await fetch(base + path)).json() as Promise<Record<string, unknown>>;
    interface Seen {
      queue: string;
      counted: boolean;
      id: string;
      body: unknown;
      attempts: number;
      recent: boolean;
    }
    const seen = (): Seen[] =>
      records
        .filter(({ event }) => event.kind === "queue")
        .flatMap(({ logs }) => JSON.parse(String(logs[0]?.message[0])) as Seen[]);

    /** Resolves with the received messages once there are `count` of them. */
    async function received(count: number): Promise<Seen[]> {
      for (;;) {
        const next = heard.promise;
        if (seen().length >= count) return seen();
        await next;
      }
    }

    it("receives every content type", async () => {
      const { metadata } = await call("/types");
      assert.equal(typeof (metadata as { metrics: { backlogCount: number } }).metrics.backlogCount, "number");
      const messages = await received(5);
      assert.deepEqual(
        messages.map(({ body }) => body).sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
        [{ a: 1 }, "text é", { bytes: [1, 2, 255] }, { map: [["k", new Date(5).toISOString()]] }, { date: 7 }].sort(
          (a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)),
        ),
      );
      assert.ok(
        messages.every(
          ({ attempts, recent, counted, id }) => attempts === 1 && recent && counted && /^[0-9a-f]{32}$/.test(id),
        ),
      );
    });

    it("receives a retried message again, and the dead letter queue receives it after the last retry", async () => {
      const before = seen().length;
      await call("/retry");
      const messages = (await received(before + 3)).slice(before);
      assert.deepEqual(
        messages.map(({ queue, attempts, body }) => [queue, attempts, body]),
        [
          [QUEUE, 1, { retry: true }],
          [QUEUE, 2, { retry: true }],
          ["dead", 1, { retry: true }],
        ],
      );
      assert.equal(new Set(messages.map(({ id }) => id)).size, 1);
    });

    it("does not receive an acknowledged message again when the handler throws", async () => {
      const before = seen().length;
      await call("/ack");
      const messages = (await received(before + 3)).slice(before);
      assert.deepEqual(
        messages.map(({ body, attempts }) => [body, attempts]),
        [
          [{ ackThenThrow: true }, 1],
          ["other", 1],
          ["other", 2],
        ],
      );
      const failed = records.find(({ event, outcome }) => event.kind === "queue" && outcome === "exception");
      assert.deepEqual(
        [failed?.exception?.message, failed?.event],
        ["after ack", { kind: "queue", queue: QUEUE, batchSize: 2 }],
      );
    });

    it("receives a delayed message when it is due", async () => {
      const before = seen().length;
      const sent = Date.now();
      await call("/delayed");
      await received(before + 1);
      assert.ok(Date.now() - sent >= 1000);
    });

    it("gets an error for a message, a batch and a delay that exceed the limits", async () => {
      for (const [path, reason] of [
        ["/large", /message length of 128001 bytes exceeds limit of 128000/],
        ["/many", /batch message count of 101 exceeds limit of 100/],
        ["/total", /batch size of 300000 bytes exceeds limit of 256000/],
        ["/slow", /delay/i],
      ] as const)
        assert.match(((await call(path)) as { error: string }).error, reason, path);
      assert.equal(typeof ((await call("/metrics")) as { backlogCount: number }).backlogCount, "number");
    });
  }),
);
