import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock } from "../../../kernel/index.ts";
import { createBreaker } from "./breaker.ts";

test("pauses after consecutive failures, longer each time, and resets on the first success", () => {
  const clock = createManualClock(0);
  const breaker = createBreaker({ clock, after: 2, minMs: 1000, maxMs: 3000 });
  const pause = () => (breaker.blocked("a")?.until ?? clock.now()) - clock.now();
  const pauses: number[] = [];
  for (let n = 0; n < 5; n++) {
    breaker.failed("a", `reason ${n}`);
    pauses.push(pause());
    clock.advance(pause());
  }
  assert.deepEqual(pauses, [0, 1000, 2000, 3000, 3000]);
  assert.equal(breaker.blocked("b"), undefined);
  breaker.failed("a", "once more");
  assert.deepEqual(breaker.list(), [{ key: "a", until: clock.now() + 3000, why: "once more" }]);
  breaker.succeeded("a");
  breaker.failed("a", "new");
  assert.equal(pause(), 0);
});

test("resumes a paused key; the next failure pauses it for longer", () => {
  const clock = createManualClock(0);
  const changes: string[] = [];
  const breaker = createBreaker({
    clock,
    after: 2,
    minMs: 1000,
    maxMs: 9000,
    onPause: ({ key, until }) => changes.push(`${key} paused until ${until}`),
    onResume: (key) => changes.push(`${key} resumed`),
  });
  breaker.resume("a");
  breaker.failed("a", "down");
  breaker.failed("a", "down");
  breaker.resume("a");
  assert.equal(breaker.blocked("a"), undefined);
  breaker.failed("a", "down");
  assert.equal(breaker.blocked("a")?.until, 2000);
  clock.advance(2000);
  breaker.succeeded("a");
  breaker.succeeded("a");
  assert.deepEqual(changes, ["a paused until 1000", "a resumed", "a paused until 2000", "a resumed"]);
});

test("restores only pauses that are still active", () => {
  const clock = createManualClock(5000);
  const breaker = createBreaker({ clock, after: 3, minMs: 1000, maxMs: 9000 });
  breaker.restore({ key: "a", until: 6000, why: "down" });
  breaker.restore({ key: "b", until: 5000, why: "down" });
  assert.deepEqual(breaker.list(), [{ key: "a", until: 6000, why: "down" }]);
  assert.equal(breaker.failures("b"), 0);
});

test("remembers a bounded number of hosts", () => {
  const breaker = createBreaker({ clock: createManualClock(0), after: 1, minMs: 1000, maxMs: 1000 });
  for (let n = 0; n < 10_050; n++) breaker.failed(`host ${n}`, "down");
  assert.equal(breaker.list().length, 10_000);
  assert.equal(breaker.blocked("host 0"), undefined);
});
