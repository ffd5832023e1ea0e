import assert from "node:assert/strict";
import { test } from "node:test";
import { createBackgroundThrottle } from "./pauses.ts";
import { NICENESS } from "./tools.ts";

/** Scheduler weight by niceness; 1024 for niceness 0 (sched_prio_to_weight, kernel/sched/core.c). */
const WEIGHTS: Record<number, number> = { 0: 1024, 1: 820, 2: 655, 3: 526, 4: 423, 5: 335, 10: 110, 15: 36, 19: 15 };

test("background encoding gets at least a twentieth of a processor while viewers keep the encoder busy", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  let running = true;
  const pauses = createBackgroundThrottle({
    now: () => now,
    hasStarted: () => true,
    signal: (_, signal) => void (running = signal === "SIGCONT"),
  });
  const leave = pauses.register(1, "background");
  // Urgent runs follow each other without a gap.
  let end = pauses.register(2, "urgent");
  let worked = 0;
  for (; now < 600_000; now += 10) {
    if (running) worked += 10;
    if (now % 4000 === 0) {
      const next = pauses.register(3, "urgent");
      end();
      end = next;
    }
    t.mock.timers.tick(10);
  }
  end();
  leave();
  const share = worked / now;
  assert.ok(share >= 0.19, `runs ${share} of the time`);
  const weight = WEIGHTS[NICENESS.background]!;
  assert.ok(
    (share * weight) / (weight + 1024) >= 0.045,
    `${(share * weight) / (weight + 1024)} of a CPU shared with an urgent run`,
  );
});
