import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test, type TestContext } from "node:test";
import type { WorkerUsage } from "./port.ts";
import { createUsageMeter, isMainThreadAsleep, readMainThreadUs } from "./usage-meter.ts";

type Usage = Pick<WorkerUsage, "subrequests" | "cpuTimes">;

function open(t: TestContext) {
  let cpu: number | undefined = 5000;
  const reports: Usage[] = [];
  const meter = createUsageMeter({ cpuUs: () => cpu, emit: (usage) => void reports.push(usage), intervalMs: 1e6 });
  t.after(() => meter.stop());
  return { meter, reports, use: (us: number) => (cpu = (cpu ?? 0) + us), vanish: () => (cpu = undefined) };
}

test("divides the CPU time of a sample among the invocations that ran in it", (t) => {
  const { meter, reports, use } = open(t);
  const long = meter.begin();
  for (const outcome of ["ok", "ok", "exception"] as const) meter.begin().ended(outcome);
  use(4000);
  meter.sample();
  use(2000);
  meter.sample();
  long.ended("ok");
  long.ended("exception");
  use(500);
  meter.sample();
  meter.sample();
  assert.deepEqual(reports, [
    {
      subrequests: 0,
      cpuTimes: [
        { outcome: "ok", us: 1000, count: 2 },
        { outcome: "exception", us: 1000, count: 1 },
      ],
    },
    { subrequests: 0, cpuTimes: [{ outcome: "ok", us: 3500, count: 1 }] },
  ]);
});

test("counts all requests, but does not report invocations that have no outcome or whose process has ended", (t) => {
  const { meter, reports, use, vanish } = open(t);
  meter.begin().ended(undefined);
  meter.subrequest();
  meter.subrequest();
  use(1000);
  meter.sample();
  meter.subrequest();
  meter.begin().ended("exceededCpu");
  vanish();
  meter.stop();
  assert.deepEqual(reports, [
    { subrequests: 2, cpuTimes: [] },
    { subrequests: 1, cpuTimes: [] },
  ]);
});

test("reads the CPU time of a main thread", { skip: process.platform !== "linux" }, () => {
  const before = readMainThreadUs(process.pid)!;
  // On a busy machine, a thread can wait for the CPU for long.
  const end = performance.now() + 30_000;
  while (readMainThreadUs(process.pid)! - before <= 1000) assert.ok(performance.now() < end);
  assert.equal(readMainThreadUs(2 ** 30), undefined);
});

test("a main thread that waits for an event is asleep", { skip: process.platform !== "linux" }, async (t) => {
  assert.equal(isMainThreadAsleep(process.pid), false);
  assert.equal(isMainThreadAsleep(2 ** 30), true);
  const { pid } = spawn("sleep", ["60"]);
  t.after(() => void process.kill(pid!));
  while (!isMainThreadAsleep(pid!)) await new Promise((resolve) => setImmediate(resolve));
});
