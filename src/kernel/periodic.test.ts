import assert from "node:assert/strict";
import { test } from "node:test";
import { every } from "./periodic.ts";
import type { Log } from "./log.ts";

const DAY = 86_400_000;

function logged() {
  const lines: string[] = [];
  const log = { warn: (_fields: object, line: string) => lines.push(line) } as unknown as Log;
  return { lines, log };
}

test("runs never overlap", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let runs = 0;
  const repetition = every(1000, async () => (runs++, released), { name: "sweep", ...logged() });
  t.mock.timers.tick(5000);
  await Promise.resolve();
  assert.equal(runs, 1);
  const stopped = repetition.stop();
  release();
  await stopped;
});

test("a failed run is logged, and the next one starts", async () => {
  const { lines, log } = logged();
  let runs = 0;
  const repetition = every(
    DAY,
    () => {
      if (++runs === 1) throw new Error("no connection");
    },
    { name: "sweep", log },
  );
  await repetition.run();
  await repetition.run();
  assert.equal(runs, 2);
  assert.deepEqual(lines, ["sweep failed, will retry"]);
  await repetition.stop();
});

test("stop waits for the run in progress and starts no other", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let ended = false;
  let runs = 0;
  const repetition = every(
    DAY,
    async () => {
      runs++;
      await released;
      ended = true;
    },
    { name: "sweep", ...logged() },
  );
  void repetition.run();
  const stopped = repetition.stop();
  release();
  await stopped;
  assert.equal(ended, true);
  await repetition.run();
  assert.equal(runs, 1);
});
