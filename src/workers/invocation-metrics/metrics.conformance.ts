import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import type { Invocation, WorkerUsage } from "../runtime/port.ts";
import { invocationMetricsMigrations } from "./metrics-table.ts";
import { createInvocationMetrics, type InvocationMetrics } from "./metrics.ts";
import { quantile } from "./histogram.ts";

const ACCOUNT = "a".repeat(32);
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const START = Date.UTC(2026, 10, 21, 22, 31);

const INVOCATION: Invocation = {
  account: ACCOUNT,
  script: "shop",
  version: "v1",
  event: { kind: "fetch", method: "GET", url: "/" },
  outcome: "ok",
  startedAt: new Date(START),
  wallMs: 20,
  logs: [],
  exceptions: [],
};

async function open(t: TestContext, engine: TestEngine) {
  const { db, another } = await engine.open(t, invocationMetricsMigrations);
  const clock = createManualClock(START);
  const of = (database: typeof db) => {
    const figures = createInvocationMetrics({ db: database, clock, log: silentLog });
    t.after(() => figures.close());
    let onInvocation = (_invocation: Invocation) => {};
    let onUsage = (_usage: WorkerUsage) => {};
    figures.watch({
      onInvocation: (listener) => ((onInvocation = listener), () => {}),
      onUsage: (listener) => ((onUsage = listener), () => {}),
    });
    return {
      figures,
      invoke: (more: Partial<Invocation> = {}) => onInvocation({ ...INVOCATION, ...more }),
      use: (more: Partial<WorkerUsage>) =>
        onUsage({ account: ACCOUNT, script: "shop", version: "v1", subrequests: 0, cpuTimes: [], ...more }),
    };
  };
  return { ...of(db), clock, other: async () => of(await another()) };
}

const read = (figures: InvocationMetrics, more: Partial<Parameters<InvocationMetrics["read"]>[0]> = {}) =>
  figures.read({
    account: ACCOUNT,
    since: START - DAY,
    until: START + DAY,
    filter: { all: [] },
    groupBy: [],
    times: true,
    ...more,
  });

export function invocationMetricsConformance(engine: TestEngine): void {
  test("counts requests, errors, subrequests and times by worker, version and status", async (t) => {
    const { figures, invoke, use } = await open(t, engine);
    for (let n = 0; n < 3; n++) invoke();
    invoke({ version: "v2", outcome: "exception", wallMs: 40 });
    invoke({ outcome: "exceededCpu" });
    invoke({ outcome: "canceled" });
    invoke({ script: "mail", event: { kind: "email", id: "m", from: "", to: "b@x", rawSize: 100 } });
    invoke({ event: { kind: "other", name: "Counter", object: { id: "0".repeat(64), event: null } } });
    const { account: _, ...withoutAccount } = INVOCATION;
    invoke({ ...withoutAccount, account: undefined } as never);
    use({ subrequests: 5, cpuTimes: [{ outcome: "ok", us: 1500, count: 3 }] });
    use({ version: "v2", cpuTimes: [{ outcome: "exception", us: 9000, count: 1 }] });
    await figures.flush();
    const groups = await read(figures, { groupBy: ["script", "version", "status"] });
    assert.deepEqual(
      groups
        .map(({ values, figures: { requests, errors, subrequests, cpuUs, wallUs, maxCpuUs, maxWallUs } }) => [
          values.join(" "),
          requests,
          errors,
          subrequests,
          cpuUs,
          wallUs,
          maxCpuUs,
          maxWallUs,
        ])
        .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
      [
        ["mail v1 success", 1, 0, 0, 0, 20_000, 0, 20_000],
        ["shop v1 clientDisconnected", 1, 0, 0, 0, 20_000, 0, 20_000],
        ["shop v1 exceededResources", 1, 1, 0, 0, 20_000, 0, 20_000],
        ["shop v1 success", 3, 0, 5, 4500, 60_000, 1500, 20_000],
        ["shop v2 scriptThrewException", 1, 1, 0, 9000, 40_000, 9000, 40_000],
      ],
    );
    const [shop] = await read(figures, { filter: { column: "script", operator: "=", value: "shop" } });
    const near = (value: number | null, expected: number) =>
      assert.ok(Math.abs(value! - expected) <= 0.05 * expected, `${value} instead of ${expected}`);
    near(quantile(shop!.figures.cpuTimes, 0.5), 1500);
    near(quantile(shop!.figures.cpuTimes, 0.99), 9000);
    near(quantile(shop!.figures.wallTimes, 0.5), 20_000);
    const [withoutTimes] = await read(figures, { times: false });
    assert.deepEqual(withoutTimes!.figures.cpuTimes, new Map());
  });

  test("adds up the metrics of several processes, and writes them at shutdown", async (t) => {
    const { figures, invoke, use, other } = await open(t, engine);
    const second = await other();
    for (const each of [{ invoke, use }, second]) {
      each.invoke();
      each.use({ subrequests: 2, cpuTimes: [{ outcome: "ok", us: 1500, count: 1 }] });
    }
    await Promise.all([figures.flush(), second.figures.flush()]);
    second.invoke({ wallMs: 80 });
    await second.figures.close();
    const [all] = await read(figures);
    assert.deepEqual(
      [all!.figures.requests, all!.figures.subrequests, all!.figures.cpuUs, all!.figures.maxWallUs],
      [3, 4, 3000, 80_000],
    );
    assert.equal(
      [...all!.figures.cpuTimes.values()].reduce((a, b) => a + b),
      2,
    );
  });

  test("keeps five minutes for two days, hours for a month, and days for the configured time", async (t) => {
    const { figures, invoke, clock } = await open(t, engine);
    invoke();
    await figures.flush();
    const starts = async (step: number, since: number) =>
      (await read(figures, { groupBy: ["start_at"], since, until: clock.now() + 1, step })).map(({ values }) =>
        Number(values[0]),
      );
    assert.deepEqual(await starts(MINUTE, START - 7 * MINUTE), [START - MINUTE]);
    clock.advance(3 * DAY);
    invoke();
    await figures.flush();
    assert.deepEqual(await starts(MINUTE, START - 7 * MINUTE), [START - 31 * MINUTE, START + 3 * DAY - 31 * MINUTE]);
    clock.advance(40 * DAY);
    await figures.flush();
    assert.deepEqual(
      await starts(MINUTE, START - 7 * MINUTE),
      [0, 3].map((days) => Math.floor(START / DAY) * DAY + days * DAY),
    );
    clock.advance(60 * DAY);
    await figures.flush();
    assert.deepEqual(await read(figures, { until: clock.now() }), []);
  });
}
