import assert from "node:assert/strict";
import { test } from "node:test";
import type { UserError } from "../../kernel/index.ts";
import { parseCron } from "./cron.ts";

const minuteOf = (time: string) => Date.parse(`${time}:00Z`) / 60_000;
const comes = (cron: string, time: string) => parseCron(cron).matchesMinute(minuteOf(time));

test("the hosted service's examples match at the documented times", () => {
  assert.ok(comes("* * * * *", "2026-11-20T10:07"));
  assert.ok(comes("*/30 * * * *", "2026-11-20T10:30") && !comes("*/30 * * * *", "2026-11-20T10:31"));
  // 2026-11-22 is a Sunday, which is written as 1 or by name.
  for (const cron of ["0 17 * * sun", "0 17 * * 1"])
    assert.ok(comes(cron, "2026-11-22T17:00") && !comes(cron, "2026-11-23T17:00"), cron);
  for (const cron of ["10 7 * * mon-fri", "10 7 * * 2-6"]) {
    assert.ok(comes(cron, "2026-11-23T07:10") && comes(cron, "2026-11-27T07:10"), cron);
    assert.ok(!comes(cron, "2026-11-22T07:10") && !comes(cron, "2026-11-28T07:10"), cron);
  }
  assert.ok(comes("0 15 1 * *", "2026-12-01T15:00") && !comes("0 15 1 * *", "2026-12-02T15:00"));
  for (const cron of ["0 18 * * 6L", "0 18 * * friL"])
    assert.ok(comes(cron, "2026-11-27T18:00") && !comes(cron, "2026-11-20T18:00"), cron);
  // The last day of February 2026 is a Saturday, its last weekday the 27th.
  assert.ok(comes("59 23 LW * *", "2026-02-27T23:59") && !comes("59 23 LW * *", "2026-02-28T23:59"));
  assert.ok(comes("0 9 L * *", "2026-02-28T09:00"));
  // The 15th of November 2026 is a Sunday: the nearest weekday is Monday.
  assert.ok(comes("0 9 15W * *", "2026-11-16T09:00") && !comes("0 9 15W * *", "2026-11-15T09:00"));
  assert.ok(comes("0 10 * * MON#2", "2026-11-09T10:00") && !comes("0 10 * * MON#2", "2026-11-16T10:00"));
  assert.ok(comes("0 10 * aug *", "2026-08-03T10:00") && !comes("0 10 * AUG *", "2026-11-03T10:00"));
  assert.ok(comes("0 0 * * 7", "2026-11-21T00:00"), "7 is Saturday");
});

test("evaluates cron expressions in UTC", () => {
  assert.ok(comes("30 2 * * *", "2026-03-29T02:30"));
});

const refused = [
  "",
  "* * * *",
  "* * * * * *",
  "0 0 * * 0",
  "0 0 * * 8",
  "60 * * * *",
  "* 24 * * *",
  "0 0 32 * *",
  "0 0 0 * *",
  "0 0 * 13 *",
  "@daily",
  "0 0 ? * *",
  "a * * * *",
  "0 0 30 2 *",
  "*/0 * * * *",
  "5-1 * * * *",
  "0 0 * * mon#6",
  "1,,2 * * * *",
  "x".repeat(300),
];
for (const cron of refused) {
  test(`rejects ${JSON.stringify(cron.slice(0, 20))}`, () => {
    assert.throws(
      () => parseCron(cron),
      (err: UserError) => err.code === 10100 && err.message.startsWith("invalid cron string"),
    );
  });
}

test("lists the next times of an expression, in UTC", () => {
  const next = (cron: string, count: number) =>
    parseCron(cron)
      .next(new Date("2026-11-20T10:07:30Z"), count)
      .map((at) => at.toISOString());
  assert.deepEqual(next("*/30 * * * *", 2), ["2026-11-20T10:30:00.000Z", "2026-11-20T11:00:00.000Z"]);
  assert.deepEqual(next("0 17 * * sun", 1), ["2026-11-22T17:00:00.000Z"]);
});
