import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock } from "../../../kernel/index.ts";
import { createBreaker } from "./breaker.ts";

test("pauses for longer after each consecutive failure, and resets on the first success", () => {
  const clock = createManualClock(0);
  const breaker = createBreaker({ clock, failureThreshold: 2, minMs: 1000, maxMs: 3000 });
  const pause = () => (breaker.activePause("a")?.until ?? clock.now()) - clock.now();
  const pauses: number[] = [];
  for (let n = 0; n < 5; n++) {
    breaker.recordFailure("a", `reason ${n}`);
    pauses.push(pause());
    clock.advance(pause());
  }
  assert.deepEqual(pauses, [0, 1000, 2000, 3000, 3000]);
  assert.equal(breaker.activePause("b"), undefined);
  breaker.recordFailure("a", "once more");
  assert.deepEqual(breaker.list(), [{ key: "a", until: clock.now() + 3000, why: "once more" }]);
  breaker.recordSuccess("a");
  breaker.recordFailure("a", "new");
  assert.equal(pause(), 0);
});

test("resumes a paused key, which the next failure pauses for longer", () => {
  const clock = createManualClock(0);
  const changes: string[] = [];
  const breaker = createBreaker({
    clock,
    failureThreshold: 2,
    minMs: 1000,
    maxMs: 9000,
    onPause: ({ key, until }) => changes.push(`${key} paused until ${until}`),
    onResume: (key) => changes.push(`${key} resumed`),
  });
  breaker.resume("a");
  breaker.recordFailure("a", "down");
  breaker.recordFailure("a", "down");
  breaker.resume("a");
  assert.equal(breaker.activePause("a"), undefined);
  breaker.recordFailure("a", "down");
  assert.equal(breaker.activePause("a")?.until, 2000);
  clock.advance(2000);
  breaker.recordSuccess("a");
  breaker.recordSuccess("a");
  assert.deepEqual(changes, ["a paused until 1000", "a resumed", "a paused until 2000", "a resumed"]);
});

test("restores only pauses that are still active", () => {
  const clock = createManualClock(5000);
  const breaker = createBreaker({ clock, failureThreshold: 3, minMs: 1000, maxMs: 9000 });
  breaker.restore({ key: "a", until: 6000, why: "down" });
  breaker.restore({ key: "b", until: 5000, why: "down" });
  assert.deepEqual(breaker.list(), [{ key: "a", until: 6000, why: "down" }]);
  assert.equal(breaker.failureCount("b"), 0);
});

test("remembers a bounded number of hosts", () => {
  const breaker = createBreaker({ clock: createManualClock(0), failureThreshold: 1, minMs: 1000, maxMs: 1000 });
  for (let n = 0; n < 10_050; n++) breaker.recordFailure(`host ${n}`, "down");
  assert.equal(breaker.list().length, 10_000);
  assert.equal(breaker.activePause("host 0"), undefined);
});

test("counts failures of other processes, and applies their pauses and successes", () => {
  const clock = createManualClock(0);
  const news: string[] = [];
  const breaker = createBreaker({
    clock,
    failureThreshold: 3,
    minMs: 1000,
    maxMs: 8000,
    onPause: ({ until }) => news.push(`paused until ${until}`),
    onFailure: () => news.push("failed"),
    onSuccess: () => news.push("reached"),
  });
  breaker.recordRemoteFailure("a");
  breaker.recordRemoteFailure("a");
  assert.deepEqual([breaker.failureCount("a"), news], [2, []]);
  breaker.recordFailure("a", "down");
  assert.deepEqual(news, ["paused until 1000"]);
  breaker.recordRemoteFailure("a");
  assert.equal(breaker.failureCount("a"), 3);
  // Another process was the first to retry.
  breaker.restore({ key: "a", until: 3000, why: "still down" });
  assert.deepEqual(breaker.activePause("a"), { until: 3000, why: "still down" });
  clock.advance(3000);
  breaker.recordFailure("a", "down");
  assert.deepEqual(news.slice(1), ["paused until 7000"]);
  breaker.recordRemoteSuccess("a");
  assert.equal(breaker.activePause("a"), undefined);
  breaker.recordFailure("b", "down");
  breaker.recordSuccess("b");
  breaker.recordSuccess("b");
  assert.deepEqual(news.slice(2), ["failed", "reached"]);
});
