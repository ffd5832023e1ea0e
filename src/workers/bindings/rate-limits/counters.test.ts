import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock } from "../../../kernel/index.ts";
import { createRateLimitCounters } from "./counters.ts";

const START = 1_700_000_040_000; // The start of a minute.
const simple = { limit: 2, period: 60 } as const;
const call = { account: "a", namespace: "1", key: "k", simple };

test("counts up to the limit in each period", () => {
  const clock = createManualClock(START);
  const { count } = createRateLimitCounters(clock);
  assert.deepEqual([count(call), count(call), count(call)], [true, true, false]);
  clock.advance(59_999);
  assert.equal(count(call), false);
  clock.advance(1);
  assert.deepEqual([count(call), count(call), count(call)], [true, true, false]);
});

test("counts each account, namespace, key and period separately", () => {
  const { count } = createRateLimitCounters(createManualClock(START));
  const long = "k".repeat(300);
  for (const other of [
    call,
    { ...call, account: "b" },
    { ...call, namespace: "2" },
    { ...call, key: "l" },
    { ...call, key: `${long}1` },
    { ...call, key: `${long}2` },
    { ...call, simple: { limit: 2, period: 10 } as const },
  ])
    assert.deepEqual([count(other), count(other), count(other)], [true, true, false]);
});

test("bindings with the same namespace and different limits share their counts", () => {
  const { count } = createRateLimitCounters(createManualClock(START));
  assert.deepEqual([count(call), count(call)], [true, true]);
  const wider = { ...call, simple: { limit: 3, period: 60 } as const };
  assert.deepEqual([count(wider), count(wider), count(call)], [true, false, false]);
});

test("evicts the oldest key of an account that reaches its maximum, but no keys of other accounts", () => {
  const { count } = createRateLimitCounters(createManualClock(START), { mostKeys: 3 });
  const once = { limit: 1, period: 60 } as const;
  const by = (account: string, key: string) => count({ account, namespace: "1", key, simple: once });
  assert.equal(by("other", "0"), true);
  assert.deepEqual(
    ["0", "1", "2", "3"].map((key) => by("a", key)),
    [true, true, true, true],
  );
  assert.deepEqual([by("a", "3"), by("a", "2"), by("a", "0"), by("other", "0")], [false, false, true, false]);
});
