import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "../kernel/metrics.ts";
import { meterApi } from "./api-meter.ts";

test("counts responses by operation and status class, and records durations in histogram buckets", async () => {
  const metrics = createMetrics({ processMetrics: false });
  const onResponse = meterApi(metrics);
  for (const [operation, status, ms] of [
    ["list", 200, 0.5],
    ["list", 204, 1],
    ["list", 404, 20],
    ["put", 302, 40_000],
    ["put", 500, 3],
    ["put", 507, 3],
  ] as const)
    onResponse(operation, status, ms);
  const { body } = await metrics.render();
  const value = (series: string) =>
    Number(
      body
        .split("\n")
        .find((line) => line.startsWith(`${series} `))
        ?.split(" ")[1],
    );
  assert.match(body, /^# TYPE reelpost_api_requests_total counter$/m);
  assert.match(body, /^# TYPE reelpost_api_request_seconds histogram$/m);
  assert.deepEqual(
    [
      ["list", "2xx"],
      ["list", "4xx"],
      ["put", "3xx"],
      ["put", "5xx"],
    ].map(([operation, status]) => value(`reelpost_api_requests_total{operation="${operation}",status="${status}"}`)),
    [2, 1, 1, 2],
  );
  const bucket = (operation: string, le: string) =>
    value(`reelpost_api_request_seconds_bucket{le="${le}",operation="${operation}"}`);
  assert.deepEqual(
    ["0.001", "0.01", "0.025", "30", "+Inf"].map((le) => bucket("list", le)),
    [2, 2, 3, 3, 3],
  );
  assert.deepEqual(
    [bucket("put", "30"), bucket("put", "+Inf"), value('reelpost_api_request_seconds_count{operation="put"}')],
    [2, 3, 3],
  );
  assert.ok(Math.abs(value('reelpost_api_request_seconds_sum{operation="list"}') - 0.0215) < 1e-9);
  assert.equal(
    body.includes('operation="list",status="5xx"'),
    false,
    "status classes that never occurred are not reported",
  );
});
