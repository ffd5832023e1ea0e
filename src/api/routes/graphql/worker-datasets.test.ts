import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import { workersMigrations, type Invocation, type WorkerUsage } from "../../../workers/index.ts";
import { createInvocationMetrics } from "../../../workers/invocation-metrics/index.ts";
import { startApi, TEST_ACCOUNT } from "../../api.testing.ts";
import { graphqlRoutes } from "./routes.ts";
import { workerDatasets } from "./worker-datasets.ts";

const START = Date.UTC(2026, 10, 20, 22, 31);

onEveryDatabase((engine) => {
  describe("worker analytics", () => {
    test("answers the hosted service's example query, with quantiles", async (t) => {
      const { db } = await engine.open(t, workersMigrations);
      const clock = createManualClock(START);
      const figures = createInvocationMetrics({ db, clock, log: silentLog });
      t.after(() => figures.close());
      let invoke: (invocation: Invocation) => void = () => {};
      let use: (usage: WorkerUsage) => void = () => {};
      figures.watch({
        onInvocation: (listener) => ((invoke = listener), () => {}),
        onUsage: (listener) => ((use = listener), () => {}),
      });
      const worker = { account: TEST_ACCOUNT, script: "shop", version: "v1" };
      const invocation: Invocation = {
        ...worker,
        event: { kind: "fetch", method: "GET", url: "/" },
        outcome: "ok",
        startedAt: new Date(START),
        wallMs: 20,
        logs: [],
        exceptions: [],
      };
      for (let n = 0; n < 99; n++) invoke(invocation);
      invoke({ ...invocation, outcome: "exception" });
      invoke({ ...invocation, script: "other" });
      invoke({ ...invocation, account: "f".repeat(32) });
      use({ ...worker, subrequests: 7, cpuTimes: [{ outcome: "ok", us: 1000, count: 98 }, { outcome: "ok", us: 50_000, count: 1 }] }); // prettier-ignore
      await figures.flush();
      const { call } = await startApi(t, {
        clock,
        routes: graphqlRoutes({ datasets: { accounts: workerDatasets({ figures, clock }) } }),
      });
      async function ask(dataset: string) {
        const { body } = await call("post", "/graphql", {
          body: {
            query: `query GetWorkersAnalytics($accountTag: string, $datetimeStart: string, $datetimeEnd: string, $scriptName: string) { viewer { accounts(filter: {accountTag: $accountTag}) { ${dataset} } } }`,
            variables: {
              accountTag: TEST_ACCOUNT,
              datetimeStart: "2026-11-20T22:00:00.000Z",
              datetimeEnd: "2026-11-20T23:00:00.000Z",
              scriptName: "shop",
            },
          },
        });
        assert.equal(body.errors, null, JSON.stringify(body.errors));
        return body.data.viewer.accounts[0].workersInvocationsAdaptive;
      }
      const rows = await ask(
        "workersInvocationsAdaptive(limit: 100, orderBy: [sum_requests_DESC], filter: { scriptName: $scriptName, datetime_geq: $datetimeStart, datetime_leq: $datetimeEnd }) { sum { subrequests requests errors cpuTimeUs wallTime duration } quantiles { cpuTimeP50 cpuTimeP99 cpuTimeP999 wallTimeP50 } max { cpuTime } dimensions { datetime scriptName scriptVersion status } }",
      );
      assert.equal(rows.length, 2);
      const [{ quantiles, ...success }, failed] = rows;
      assert.deepEqual(success, {
        sum: {
          subrequests: 7,
          requests: 99,
          errors: 0,
          cpuTimeUs: 148_000,
          wallTime: 1_980_000,
          duration: 1.98 * 0.128,
        },
        max: { cpuTime: 50_000 },
        dimensions: { datetime: "2026-11-20T22:30:00Z", scriptName: "shop", scriptVersion: "v1", status: "success" },
      });
      for (const [name, us] of [
        ["cpuTimeP50", 1000],
        ["cpuTimeP99", 50_000],
        ["cpuTimeP999", 50_000],
        ["wallTimeP50", 20_000],
      ] as const)
        // prettier-ignore
        assert.ok(Math.abs(quantiles[name] - us) <= 0.05 * us, `${name}: ${quantiles[name]}`);
      assert.deepEqual(
        [failed.sum.requests, failed.sum.errors, failed.dimensions.status, failed.quantiles.cpuTimeP50],
        [1, 1, "scriptThrewException", null],
      );
      assert.deepEqual(
        await ask(
          "workersInvocationsAdaptive(orderBy: [quantiles_wallTimeP50_DESC, scriptName_ASC]) { sum { requests } dimensions { scriptName date } }",
        ),
        [
          { sum: { requests: 1 }, dimensions: { scriptName: "other", date: "2026-11-20" } },
          { sum: { requests: 100 }, dimensions: { scriptName: "shop", date: "2026-11-20" } },
        ],
      );
      assert.deepEqual(await ask("workersInvocationsAdaptive(limit: 1) { sum { requests } }"), [
        { sum: { requests: 101 } },
      ]);
    });
  });
});
