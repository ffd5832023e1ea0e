import assert from "node:assert/strict";
import { test } from "node:test";
import { perDay, periodOf } from "./report-period.ts";

const NOW = Date.UTC(2026, 2, 2, 23, 59);

test("a period ends today and includes the given number of days in UTC", () => {
  assert.deepEqual(periodOf(1, NOW), { since: "2026-03-02", until: "2026-03-02" });
  assert.deepEqual(periodOf(30, NOW), { since: "2026-02-01", until: "2026-03-02" });
});

test("days without a report have the value 0", () => {
  const { times, valuesOf } = perDay(periodOf(3, NOW), [{ day: "2026-03-01", messages: 5 }]);
  assert.deepEqual(times, [Date.UTC(2026, 1, 28) / 1000, Date.UTC(2026, 2, 1) / 1000, Date.UTC(2026, 2, 2) / 1000]);
  assert.deepEqual(
    valuesOf(({ messages }) => messages),
    [0, 5, 0],
  );
});
