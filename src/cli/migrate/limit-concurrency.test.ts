import assert from "node:assert/strict";
import { test } from "node:test";
import { startFakeApi } from "../cli.testing.ts";
import { createApiClient } from "../api/client.ts";
import { limitConcurrency } from "./limit-concurrency.ts";

test("reads are retried after gateway errors, but writes are not", async (t) => {
  let failures = 2;
  const gateway = { status: 502, raw: "<html>bad gateway</html>" };
  const fake = await startFakeApi(t, {
    "GET /flaky": () => (failures-- > 0 ? gateway : { result: "read" }),
    "POST /flaky": () => gateway,
    "GET /refused": { status: 403, errors: [{ code: 9109, message: "Unauthorized" }] },
  });
  const waits: number[] = [];
  const api = limitConcurrency(createApiClient({ url: fake.url, token: "t", version: "1" }), 2, async (ms) =>
    waits.push(ms),
  );
  assert.equal(await api.result("GET", "/flaky"), "read");
  assert.deepEqual(waits, [1000, 2000]);
  await assert.rejects(api.result("POST", "/flaky"), { code: "E_NOT_THE_API" });
  await assert.rejects(api.result("GET", "/refused"), { code: 9109 });
  assert.deepEqual(
    ["POST /flaky", "GET /refused"].map((call) => fake.calls().filter((seen) => seen === call).length),
    [1, 1],
  );
});

test("no more than the given number of requests run at a time", async () => {
  let [running, most] = [0, 0];
  const client = createApiClient({ url: "http://127.0.0.1:9/client/v4", token: "t", version: "1" });
  const api = limitConcurrency(
    {
      ...client,
      result: async <Result>() => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => void setImmediate(resolve));
        running--;
        return "done" as Result;
      },
    },
    3,
  );
  await Promise.all(Array.from({ length: 20 }, () => api.result("GET", "/x")));
  assert.equal(most, 3);
});
