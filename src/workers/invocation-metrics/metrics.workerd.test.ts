import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import { onEveryDatabase } from "../../../test/support/databases.ts";
import { mailOf, noActions, scriptOf, startRuntime } from "../runtime/runtime.testing.ts";
import { invocationMetricsMigrations } from "./metrics-table.ts";
import { createInvocationMetrics } from "./metrics.ts";
import { quantile } from "./histogram.ts";

const ACCOUNT = "a".repeat(32);

let origin: Server;
before(async () => {
  origin = createServer((_request, response) => response.end("ok"));
  await new Promise<void>((resolve) => void origin.listen(0, "127.0.0.1", resolve));
});
after(() => {
  origin.closeAllConnections();
  origin.close();
});

onEveryDatabase((engine) => {
  test("counts the invocations of a running worker: requests, errors, fetches, CPU time and duration", async (t) => {
    const { db } = await engine.open(t, invocationMetricsMigrations);
    const clock = createManualClock(Date.UTC(2026, 10, 21, 12));
    const figures = createInvocationMetrics({ db, clock, log: silentLog });
    const runtime = startRuntime();
    figures.watch(runtime);
    await runtime.deploy(
      scriptOf(
        `let n = 0; export default { async email(message) {
          const url = "http://127.0.0.1:${(origin.address() as AddressInfo).port}/";
          for (let i = 0; i < 3; i++) await (await fetch(url)).text();
          for (let i = 0, end = 0; i < 2e7; i++) end += i % 7;
          if (++n === 3) throw new Error("third");
        } }`,
        { account: ACCOUNT, version: "v1" },
      ),
    );
    for (let n = 0; n < 3; n++) await (await runtime.email("test", mailOf(), noActions)).ended;
    // Stopping the processes reports what they have used.
    await runtime.close();
    await figures.close();
    const groups = await createInvocationMetrics({ db, clock, log: silentLog }).read({
      account: ACCOUNT,
      since: clock.now() - 3_600_000,
      until: clock.now() + 1,
      filter: { all: [] },
      groupBy: ["status"],
      times: true,
    });
    const byStatus = Object.fromEntries(groups.map(({ values, figures: sums }) => [String(values[0]), sums]));
    assert.deepEqual(Object.keys(byStatus).sort(), ["scriptThrewException", "success"]);
    const { success, scriptThrewException: failed } = byStatus;
    assert.deepEqual([success!.requests, success!.errors, failed!.requests, failed!.errors], [2, 0, 1, 1]);
    assert.equal(success!.subrequests, 9);
    for (const sums of [success!, failed!]) {
      const cpuUs = quantile(sums.cpuTimes, 0.5)!;
      assert.ok(cpuUs > 1000 && cpuUs < 5_000_000, `${cpuUs} µs`);
      assert.ok(quantile(sums.wallTimes, 0.5)! >= cpuUs / 2, "the duration includes the CPU time");
    }
  });
});
