import assert from "node:assert/strict";
import { test } from "node:test";
import { createKeyedQueue } from "./keyed-queue.ts";

function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

test("runs the tasks of a key one after another, in order of arrival", async () => {
  const queue = createKeyedQueue();
  const first = gate();
  const steps: string[] = [];
  const tasks = [
    queue("a", async () => {
      await first.opened;
      steps.push("first");
    }),
    queue("a", async () => void steps.push("second")),
    queue("b", async () => void steps.push("other key")),
  ];
  await tasks[2];
  first.open();
  await Promise.all(tasks);
  assert.deepEqual(steps, ["other key", "first", "second"]);
});

test("a failed task rejects only for its own caller", async () => {
  const queue = createKeyedQueue();
  const failed = queue("a", async () => {
    throw new Error("broken");
  });
  const next = queue("a", async () => "done");
  await assert.rejects(failed, /broken/);
  assert.equal(await next, "done");
});

test("runs at most `concurrency` tasks of a key, and queues at most `maxWaiting`", async () => {
  const queue = createKeyedQueue({
    concurrency: 2,
    maxWaiting: 1,
    full: (waiting, key) => new Error(`${waiting} wait for ${key}`),
  });
  const ends = gate();
  let running = 0;
  const task = async () => {
    running++;
    await ends.opened;
  };
  const tasks = [queue("a", task), queue("a", task), queue("a", task)];
  await assert.rejects(
    queue("a", async () => {}),
    /1 wait for a/,
  );
  assert.equal(running, 2);
  ends.open();
  await Promise.all(tasks);
  assert.equal(running, 3);
});
