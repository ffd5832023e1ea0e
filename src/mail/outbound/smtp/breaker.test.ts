import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock } from "../../../kernel/index.ts";
import { createBreaker } from "./breaker.ts";

test("pauses after failures in a row, longer each time, and forgets them at the first success", () => {
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

test("remembers a bounded number of hosts", () => {
  const breaker = createBreaker({ clock: createManualClock(0), after: 1, minMs: 1000, maxMs: 1000 });
  for (let n = 0; n < 10_050; n++) breaker.failed(`host ${n}`, "down");
  assert.equal(breaker.list().length, 10_000);
  assert.equal(breaker.blocked("host 0"), undefined);
});
