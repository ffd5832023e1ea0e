import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { systemClock } from "../../kernel/index.ts";
import type { NewQueueConsumer, QueueStore } from "./index.ts";
import { ACCOUNT, createFakeWorker, json, OK, startQueues, valueOf } from "./queues.testing.ts";

/** Tests the delivery of messages to workers on every database engine. */
export function deliveriesConformance(engine: TestEngine): void {
  describe("deliveries", () => {
    async function start(t: TestContext, consumer: Partial<NewQueueConsumer> = {}) {
      const scope = { after: (end: () => Promise<void>) => t.after(end) };
      const fixture = await startQueues(engine, scope, { ...systemClock, advance: () => {} });
      const { id } = await fixture.queues.create(ACCOUNT, "jobs");
      await fixture.queues.addConsumer(ACCOUNT, id, { type: "worker", script: "w", maxWaitMs: 0, ...consumer });
      const queue = (await fixture.queues.get(ACCOUNT, id))!;
      const worker = createFakeWorker();
      const deliver = (store: QueueStore = fixture, options: Parameters<QueueStore["deliver"]>[1] = {}) => {
        const deliveries = store.deliver(worker.dispatch, { pollMs: 20, leaseMs: 60_000, ...options });
        t.after(() => {
          worker.end();
          return deliveries.close();
        });
        return deliveries;
      };
      return { ...fixture, queue, worker, deliver };
    }

    test("a batch is delivered when it is full or its first message has waited long enough", async (t) => {
      const { messages, queue, worker, deliver } = await start(t, { batchSize: 2, maxWaitMs: 300 });
      deliver();
      const sent = Date.now();
      await messages.send(queue, [json(1), json(2), json(3)]);
      const full = await worker.next();
      assert.deepEqual([full.batch.messages.map(valueOf), full.batch.queue], [[1, 2], "jobs"]);
      full.answer(OK);
      const rest = await worker.next();
      assert.deepEqual(rest.batch.messages.map(valueOf), [3]);
      assert.ok(Date.now() - sent >= 300);
      rest.answer(OK);
    });

    test("decisions about single messages override those about the batch, which override the outcome", async (t) => {
      const { messages, queue, worker, deliver } = await start(t, { batchSize: 4 });
      await messages.send(queue, [json("ack"), json("retry"), json("rest"), json("more")]);
      deliver();
      const first = await worker.next();
      const [ack, retry] = first.batch.messages.map(({ id }) => id);
      first.answer({ ...OK, outcome: "exception", ackAll: true, acks: [ack!], retries: [{ id: retry! }] });
      const second = await worker.next();
      assert.deepEqual(
        second.batch.messages.map((each) => [valueOf(each), each.attempts]),
        [["retry", 2]],
      );
      second.answer({ ...OK, retryAll: {} });
      const third = await worker.next();
      assert.deepEqual(
        third.batch.messages.map((each) => [valueOf(each), each.attempts]),
        [["retry", 3]],
      );
      third.answer(OK);
    });

    test("a batch whose worker could not be started is redelivered without counting an attempt", async (t) => {
      const { messages, queue, worker, deliver } = await start(t, { maxRetries: 0 });
      await messages.send(queue, [json("kept")]);
      deliver();
      (await worker.next()).answer({ ...OK, outcome: "exception", started: false });
      const { batch, answer } = await worker.next();
      assert.deepEqual(
        batch.messages.map((each) => [valueOf(each), each.attempts]),
        [["kept", 1]],
      );
      answer(OK);
    });

    test("at most max_concurrency batches run concurrently, all in the same process", async (t) => {
      const { queues, messages, queue, worker, deliver, another } = await start(t, { batchSize: 1, maxConcurrency: 2 });
      deliver(undefined, { alone: false });
      deliver(await another(), { alone: false });
      await messages.send(
        queue,
        Array.from({ length: 6 }, (_, n) => json(n)),
      );
      const seen: unknown[] = [];
      const running = [await worker.next(), await worker.next()];
      const other = await fill({ queues, messages }, ACCOUNT, "other", 3);
      for (let i = 0; i < 3; i++) {
        const { batch, answer } = await worker.next();
        assert.equal(batch.queue, other.name);
        answer(OK);
      }
      for (let i = 0; i < 6; i++) {
        const { batch, answer } = running.shift() ?? (await worker.next());
        seen.push(...batch.messages.map(valueOf));
        answer(OK);
      }
      assert.deepEqual(seen.sort(), [0, 1, 2, 3, 4, 5]);
    });

    test("a paused queue delivers nothing until it is resumed", async (t) => {
      const { queues, messages, queue, worker, deliver } = await start(t);
      await queues.update(ACCOUNT, queue.id, { settings: { deliveryPaused: true } });
      deliver();
      await messages.send(queue, [json("one")]);
      const other = await queues.create(ACCOUNT, "other");
      await queues.addConsumer(ACCOUNT, other.id, { type: "worker", script: "w", maxWaitMs: 0 });
      await messages.send(other, [json("other")]);
      const first = await worker.next();
      assert.deepEqual([first.batch.queue, worker.waiting], ["other", 0]);
      first.answer(OK);
      await queues.update(ACCOUNT, queue.id, { settings: { deliveryPaused: false } });
      (await worker.next()).answer(OK);
    });

    /** Creates a queue of an account with messages in it. */
    async function fill(
      { queues, messages }: Pick<QueueStore, "queues" | "messages">,
      account: string,
      name: string,
      count: number,
    ) {
      const { id } = await queues.create(account, name);
      await queues.addConsumer(account, id, { type: "worker", script: "w", maxWaitMs: 0, batchSize: 1 });
      const queue = (await queues.get(account, id))!;
      const values = Array.from({ length: count }, (_, n) => json(n));
      await messages.send(queue, values);
      return queue;
    }

    const OTHER_ACCOUNT = "b".repeat(32);

    test("slow queues of one account do not stop those of others", { timeout: 60_000 }, async (t) => {
      const store = await start(t);
      for (let i = 0; i < 6; i++) await fill(store, ACCOUNT, `slow-${i}`, 1);
      store.deliver(undefined, { maxQueues: 4 });
      const slow = [await store.worker.next(), await store.worker.next()];
      await fill(store, OTHER_ACCOUNT, "fast", 1);
      const fast = await store.worker.next();
      assert.deepEqual([fast.batch.queue, store.worker.waiting], ["fast", 0]);
      for (const { answer } of [fast, ...slow]) answer(OK);
      for (let i = 0; i < 4; i++) (await store.worker.next()).answer(OK);
    });

    test("slow batches of one account do not stop those of others", { timeout: 60_000 }, async (t) => {
      const store = await start(t);
      await fill(store, ACCOUNT, "slow", 6);
      store.deliver(undefined, { maxBatches: 4 });
      const slow = [await store.worker.next(), await store.worker.next()];
      await fill(store, OTHER_ACCOUNT, "fast", 1);
      const fast = await store.worker.next();
      assert.deepEqual([fast.batch.queue, store.worker.waiting], ["fast", 0]);
      for (const { answer } of [fast, ...slow]) answer(OK);
      for (let i = 0; i < 4; i++) (await store.worker.next()).answer(OK);
    });

    test("a queue that is always busy yields to another one", { timeout: 60_000 }, async (t) => {
      const store = await start(t);
      const busy = await fill(store, ACCOUNT, "busy", 20);
      store.deliver(undefined, { maxQueues: 1, yieldAfterMs: 50 });
      const first = await store.worker.next();
      await fill(store, OTHER_ACCOUNT, "other", 1);
      first.answer(OK);
      for (let found = false; !found;) {
        const { batch, answer } = await store.worker.next();
        found = batch.queue === "other";
        if (!found) await store.messages.send(busy, [json("more")]);
        answer(OK);
      }
    });

    test("another process takes over when the lease of a crashed one has expired", async (t) => {
      const { messages, queue, db, worker, deliver, another } = await start(t);
      await messages.send(queue, [json("survivor")]);
      const dead = Date.now() + 400;
      const tables = db.tables<{
        queue_consumers: { owner: string; owner_until: number };
        queue_messages: { token: string; due_at: number; attempts: number };
      }>();
      await db.write(tables.updateTable("queue_consumers").set({ owner: "dead", owner_until: dead }));
      await db.write(tables.updateTable("queue_messages").set({ token: "dead", due_at: dead, attempts: 1 }));
      // Only one process at a time uses SQLite, and it ends the leases of its previous run.
      const alone = engine.name === "sqlite";
      deliver(alone ? undefined : await another());
      const { batch, answer } = await worker.next();
      assert.deepEqual(
        batch.messages.map(({ attempts }) => attempts),
        [alone ? 1 : 2],
      );
      assert.ok(alone || Date.now() >= dead);
      answer(OK);
    });

    test("a lease is renewed while the handler runs, so that its batch is delivered once", async (t) => {
      const { messages, queue, db, worker, deliver } = await start(t);
      await messages.send(queue, [json("slow")]);
      const leaseMs = 2000;
      deliver(undefined, { leaseMs });
      const { answer } = await worker.next();
      const leases = db.tables<{ queue_messages: { due_at: number } }>().selectFrom("queue_messages").select("due_at");
      const until = async () => (await db.read(leases))[0]!.due_at;
      const first = await until();
      while ((await until()) <= first + leaseMs) await systemClock.sleep(20);
      assert.equal(worker.waiting, 0);
      answer(OK);
    });
  });
}
