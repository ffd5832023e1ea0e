import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import type { Queue } from "./index.ts";
import { QUEUES_TOPIC } from "./queues.ts";
import { ACCOUNT, json, refused, startQueues, valueOf } from "./queues.testing.ts";

const SCOPE = (t: TestContext) => ({ after: (end: () => Promise<void>) => t.after(end) });

/** Tests queues, their consumers, and pulled messages on every database engine. */
export function queuesConformance(engine: TestEngine): void {
  describe("queues", () => {
    const start = (t: TestContext) => startQueues(engine, SCOPE(t));

    test("a name is unique within an account and can be reused after a deletion", async (t) => {
      const { queues, messages } = await start(t);
      const one = await queues.create(ACCOUNT, "jobs", { deliveryDelay: 5, retention: 60 });
      assert.match(one.id, /^[0-9a-f]{32}$/);
      assert.deepEqual([one.deliveryDelay, one.retention, one.deliveryPaused], [5, 60, false]);
      await assert.rejects(queues.create(ACCOUNT, "jobs"), refused("nameTaken"));
      await queues.create("b".repeat(32), "jobs");
      await messages.send(one, [json(1)]);
      await queues.delete(ACCOUNT, one.id);
      assert.equal(await queues.exists(ACCOUNT, "jobs"), false);
      assert.deepEqual(await messages.peek(one, 10), []);
      assert.notEqual((await queues.create(ACCOUNT, "jobs")).id, one.id);
      await assert.rejects(queues.delete(ACCOUNT, one.id), refused("queueMissing"));
    });

    test("only one of many concurrent requests creates the queue, and ensure() returns it", async (t) => {
      const { queues } = await start(t);
      const results = await Promise.allSettled(Array.from({ length: 8 }, () => queues.create(ACCOUNT, "jobs")));
      assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
      const found = await Promise.all(Array.from({ length: 8 }, () => queues.ensure(ACCOUNT, "jobs")));
      assert.equal(new Set(found.map(({ id }) => id)).size, 1);
    });

    test("names and settings outside the published limits are rejected", async (t) => {
      const { queues } = await start(t);
      for (const name of ["", "-a", "a-", "a b", "é", "x".repeat(64)])
        await assert.rejects(queues.create(ACCOUNT, name), refused("badName"), name);
      for (const settings of [{ deliveryDelay: -1 }, { deliveryDelay: 86_401 }, { retention: 59 }, { retention: 1.5 }])
        await assert.rejects(queues.create(ACCOUNT, "a", settings), refused("badQueueSettings"));
      const { id } = await queues.create(ACCOUNT, "a");
      for (const bad of [{ batchSize: 101 }, { batchSize: 0 }, { maxRetries: 101 }, { maxWaitMs: 60_001 }])
        await assert.rejects(
          queues.addConsumer(ACCOUNT, id, { type: "http_pull", ...bad }),
          refused("badConsumerSettings"),
        );
      await assert.rejects(
        queues.addConsumer(ACCOUNT, id, { type: "http_pull", deadLetterQueue: "a" }),
        refused("ownDeadLetterQueue"),
      );
    });

    test("lists queues by name in pages, or only queues with given names; an update changes only the given fields", async (t) => {
      const { queues } = await start(t);
      for (const name of ["c", "a", "b"]) await queues.create(ACCOUNT, name, { deliveryDelay: 3 });
      const { items, total } = await queues.list(ACCOUNT, { page: 2, perPage: 2 });
      assert.deepEqual([items.map(({ name }) => name), total], [["c"], 3]);
      const named = await queues.list(ACCOUNT, { page: 1, perPage: 10 }, ["b", "none"]);
      assert.deepEqual([named.items.map(({ name }) => name), named.total], [["b"], 1]);
      const { id } = named.items[0]!;
      const changed = await queues.update(ACCOUNT, id, { name: "d", settings: { deliveryPaused: true } });
      assert.deepEqual([changed.name, changed.deliveryPaused, changed.deliveryDelay], ["d", true, 3]);
      await assert.rejects(queues.update(ACCOUNT, id, { name: "a" }), refused("nameTaken"));
      await assert.rejects(queues.update("b".repeat(32), id, {}), refused("queueMissing"));
    });

    test("a queue has one consumer and a dead letter queue created on demand, and deleting the worker removes the consumer", async (t) => {
      const { queues } = await start(t);
      const { id } = await queues.create(ACCOUNT, "jobs");
      const made = await queues.addConsumer(ACCOUNT, id, { type: "worker", script: "w", deadLetterQueue: "dead" });
      assert.deepEqual(
        [made.batchSize, made.maxWaitMs, made.maxRetries, made.maxConcurrency],
        [10, 5000, 3, undefined],
      );
      assert.equal(await queues.exists(ACCOUNT, "dead"), true);
      await assert.rejects(queues.addConsumer(ACCOUNT, id, { type: "http_pull" }), refused("consumerExists"));
      const replaced = await queues.replaceConsumer(ACCOUNT, id, made.id, {
        type: "worker",
        script: "w",
        batchSize: 2,
      });
      assert.deepEqual([replaced.id, replaced.batchSize, replaced.deadLetterQueue], [made.id, 2, undefined]);
      await assert.rejects(queues.removeConsumer(ACCOUNT, id, "f".repeat(32)), refused("consumerMissing"));
      await queues.removeConsumersOf(ACCOUNT, "w");
      assert.equal((await queues.get(ACCOUNT, id))?.consumer, undefined);
    });
  });

  describe("renaming a worker", () => {
    test("moves its consumers, and notifies other processes of their queues", async (t) => {
      const { db, queues, events } = await startQueues(engine, SCOPE(t));
      const created = await Promise.all(["a", "b", "c"].map((name) => queues.create(ACCOUNT, name)));
      for (const [i, script] of ["w", "w", "other"].entries())
        await queues.addConsumer(ACCOUNT, created[i]!.id, { type: "worker", script });
      const theirs = await queues.create("b".repeat(32), "a");
      await queues.addConsumer("b".repeat(32), theirs.id, { type: "worker", script: "w" });
      const announced: string[] = [];
      events.subscribe(QUEUES_TOPIC, (id) => void announced.push(id));
      const announce = await db.transaction((tx) =>
        queues.references.rename(tx, { account: ACCOUNT, from: "w", to: "renamed" }),
      );
      assert.deepEqual(announced, []);
      await announce();
      const scripts = await Promise.all(created.map(({ id }) => queues.get(ACCOUNT, id)));
      assert.deepEqual(
        scripts.map((queue) => queue?.consumer?.script),
        ["renamed", "renamed", "other"],
      );
      assert.equal((await queues.get("b".repeat(32), theirs.id))?.consumer?.script, "w");
      assert.deepEqual(announced.sort(), [created[0]!.id, created[1]!.id].sort());
      // Removing the consumers of the former name does not affect the renamed worker.
      await queues.removeConsumersOf(ACCOUNT, "w");
      assert.equal((await queues.get(ACCOUNT, created[0]!.id))?.consumer?.script, "renamed");
    });
  });

  describe("pulled messages", () => {
    async function start(t: TestContext, consumer: { maxRetries?: number; deadLetterQueue?: string } = {}) {
      const fixture = await startQueues(engine, SCOPE(t));
      const { id } = await fixture.queues.create(ACCOUNT, "jobs");
      await fixture.queues.addConsumer(ACCOUNT, id, { type: "http_pull", ...consumer });
      const queue = (await fixture.queues.get(ACCOUNT, id))!;
      return { ...fixture, queue, pull: (more = {}) => fixture.messages.pull(queue, more) };
    }

    test("are leased in order, invisible to others, and gone once acknowledged", async (t) => {
      const { messages, queue, pull, clock } = await start(t);
      await messages.send(queue, [json(1), json(2), json(3)]);
      const [first, second] = await pull({ batchSize: 2 });
      assert.deepEqual(
        [first, second].map((each) => [valueOf(each!), each!.attempts]),
        [
          [1, 1],
          [2, 1],
        ],
      );
      assert.deepEqual((await pull()).map(valueOf), [3]);
      assert.deepEqual(await pull(), []);
      const settled = await messages.settle(queue, [first!.leaseId, "nonsense"], []);
      assert.deepEqual([settled.acknowledged, Object.keys(settled.warnings)], [1, ["nonsense"]]);
      clock.advance(30_001);
      assert.deepEqual(
        (await pull()).map((each) => [valueOf(each), each.attempts]),
        [
          [2, 2],
          [3, 2],
        ],
      );
      const late = await messages.settle(queue, [second!.leaseId], []);
      assert.deepEqual([late.acknowledged, Object.keys(late.warnings).length], [0, 1]);
    });

    test("are acknowledged only through their own queue", async (t) => {
      const { queues, messages, queue, pull } = await start(t);
      await messages.send(queue, [json(1)]);
      const [leased] = await pull();
      const { id } = await queues.create(ACCOUNT, "other");
      await queues.addConsumer(ACCOUNT, id, { type: "http_pull" });
      const other = (await queues.get(ACCOUNT, id))!;
      assert.equal((await messages.settle(other, [leased!.leaseId], [])).acknowledged, 0);
      assert.equal((await messages.settle(queue, [leased!.leaseId], [])).acknowledged, 1);
    });

    test("are delivered after their own delay or, without one, that of the queue", async (t) => {
      const { messages, queue, pull, clock } = await start(t);
      await messages.send({ ...queue, deliveryDelay: 10 }, [json("queue"), json("own", 5), json("now", 0)]);
      assert.deepEqual((await pull()).map(valueOf), ["now"]);
      clock.advance(5000);
      assert.deepEqual((await pull()).map(valueOf), ["own"]);
      clock.advance(5000);
      assert.deepEqual((await pull()).map(valueOf), ["queue"]);
    });

    test("are retried after a delay, then moved to the dead letter queue with a new retention period", async (t) => {
      const { messages, queues, queue, pull, clock } = await start(t, { maxRetries: 1, deadLetterQueue: "dead" });
      await messages.send(queue, [json("bad")]);
      const [first] = await pull();
      assert.equal((await messages.settle(queue, [], [{ leaseId: first!.leaseId, delay: 60 }])).retried, 1);
      assert.deepEqual(await pull(), []);
      clock.advance(60_000);
      const [second] = await pull();
      assert.deepEqual([second?.id, second?.attempts], [first?.id, 2]);
      assert.equal((await messages.settle(queue, [], [{ leaseId: second!.leaseId }])).retried, 1);
      const dead = (await queues.byName(ACCOUNT, "dead"))!;
      assert.deepEqual(
        (await messages.peek(dead, 10)).map(({ id, attempts }) => [id, attempts]),
        [[first?.id, 0]],
      );
    });

    test("are dead-lettered after their last lease expires, or deleted without a dead letter queue", async (t) => {
      const { messages, queue, pull, clock } = await start(t, { maxRetries: 0 });
      await messages.send(queue, [json("bad")]);
      assert.equal((await pull({ visibilityMs: 1000 })).length, 1);
      clock.advance(1000);
      assert.deepEqual(await pull(), []);
      assert.deepEqual(await messages.peek(queue, 10), []);
    });

    test("expire after the retention period, even in a paused queue", async (t) => {
      const { messages, queues, queue, clock, pull } = await start(t);
      const kept: Queue = await queues.update(ACCOUNT, queue.id, { settings: { retention: 60, deliveryPaused: true } });
      await messages.send(kept, [json("old")]);
      assert.deepEqual(await messages.pull(kept, {}), []);
      clock.advance(59_000);
      await messages.send(kept, [json("new")]);
      clock.advance(1000);
      assert.deepEqual((await pull()).map(valueOf), ["new"]);
      await messages.sweep();
      // A count is reused for a multiple of the time that it took, which is long on a busy machine.
      clock.advance(50_000);
      assert.equal((await messages.metrics(queue)).backlogCount, 1);
    });

    test("are counted, and purged immediately", async (t) => {
      const { messages, queue, clock } = await start(t);
      const sent = new Date(clock.now());
      await messages.send(queue, [json("12345678"), json("1")]);
      const counted = { backlogCount: 2, backlogBytes: 13, oldestMessage: sent };
      clock.advance(5000);
      assert.deepEqual(await messages.metrics(queue), counted);
      assert.deepEqual((await messages.send(queue, [json("late", 100)])).backlogCount, 3);
      await messages.purge(queue);
      assert.deepEqual(await messages.metrics(queue), { backlogCount: 0, backlogBytes: 0, oldestMessage: undefined });
    });

    test("are kept by a purge that began before they were sent", async (t) => {
      const { messages, queue, clock } = await start(t);
      await messages.send(queue, [json("before")]);
      clock.advance(1);
      await messages.send(queue, [json("after")]);
      clock.advance(-1);
      await messages.purge(queue);
      assert.deepEqual((await messages.peek(queue, 10)).map(valueOf), ["after"]);
    });

    test("two processes never lease the same message", async (t) => {
      const { messages, queue, pull, another } = await start(t);
      const other = (await another()).messages;
      for (let i = 0; i < 4; i++)
        await messages.send(
          queue,
          Array.from({ length: 50 }, (_, n) => json([i, n])),
        );
      const pulled = (
        await Promise.all(
          Array.from({ length: 20 }, (_, i) =>
            i % 2 === 0 ? pull({ batchSize: 10 }) : other.pull(queue, { batchSize: 10 }),
          ),
        )
      ).flat();
      assert.equal(new Set(pulled.map(({ id }) => id)).size, pulled.length);
      const rest = await pull({ batchSize: 100 });
      assert.equal(pulled.length + rest.length, 200);
    });

    test("messages and batches above the limits are rejected as a whole", async (t) => {
      const { messages, queue } = await start(t);
      const bytes = (size: number) => ({ contentType: "bytes" as const, body: Buffer.alloc(size) });
      await assert.rejects(messages.send(queue, [bytes(128_001)]), refused("messageTooLarge"));
      await assert.rejects(messages.send(queue, [json(1), bytes(128_000), bytes(128_000)]), refused("batchTooLarge"));
      await assert.rejects(
        messages.send(
          queue,
          Array.from({ length: 101 }, () => json(1)),
        ),
        refused("tooManyMessages"),
      );
      for (const delay of [-1, 0.5, 86_401, NaN])
        await assert.rejects(messages.send(queue, [json(1, delay)]), refused("badDelay"));
      assert.deepEqual(await messages.peek(queue, 10), []);
      await messages.send(queue, [bytes(128_000), bytes(128_000)]);
    });
  });
}
