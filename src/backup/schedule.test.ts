import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock } from "../kernel/index.ts";
import { scheduleBackups } from "./index.ts";

const settled = () => new Promise((resolve) => void setImmediate(resolve));

test("backups run at the scheduled times in UTC, one at a time", async (t) => {
  const clock = createManualClock(Date.UTC(2026, 0, 1, 3, 14));
  const times: string[] = [];
  let end = () => {};
  const backups = scheduleBackups("15 3 * * *", {
    clock,
    work() {
      times.push(new Date(clock.now()).toISOString());
      return new Promise((resolve) => void (end = resolve));
    },
  });
  t.after(() => backups.stop());
  const advance = async (minutes: number) => {
    for (let minute = 0; minute < minutes; minute++) {
      clock.advance(60_000);
      await settled();
    }
  };
  await advance(1);
  assert.deepEqual(times, ["2026-01-01T03:15:00.000Z"]);
  await advance(24 * 60 + 5);
  assert.equal(times.length, 1, "the first run is still in progress");
  end();
  await settled();
  await advance(24 * 60 - 5);
  assert.deepEqual(times.slice(1), ["2026-01-03T03:15:00.000Z"]);
  end();
});

test("rejects a string that is not a five-field cron expression", () => {
  const clock = createManualClock(0);
  for (const bad of ["", "daily", "99 3 * * *", "* * * * * *", "0 0 30 2 *"])
    assert.throws(() => scheduleBackups(bad, { clock, work: async () => {} }), { kind: "badSchedule" }, bad);
});
