import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const CONFIG = {
  name: "measured",
  main: "index.js",
  compatibility_date: "2026-10-01",
  analytics_engine_datasets: [{ binding: "EVENTS", dataset: "events" }, { binding: "DEFAULT_NAME" }],
};
const WORKER = `
export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    env.EVENTS.writeDataPoint({ indexes: [pathname], blobs: [searchParams.get("blob") ?? ""], doubles: [Number(searchParams.get("n"))] });
    env.DEFAULT_NAME.writeDataPoint();
    return new Response("ok");
  }
};`;

interface Result {
  meta: { name: string; type: string }[];
  data: Record<string, unknown>[];
  rows: number;
}

describe("wrangler: Analytics Engine", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler({ "wrangler.jsonc": JSON.stringify(CONFIG), "index.js": WORKER });
  });
  after(scope.close);

  const send = (sql: string, init: RequestInit = { method: "POST", body: sql }, query = "") =>
    fetch(`${platform.api}/accounts/${platform.account}/analytics_engine/sql${query}`, {
      headers: { authorization: `Bearer ${platform.token}` },
      ...init,
    });
  const query = async (sql: string) => (await (await send(sql)).json()) as Result;
  /** Repeats the query, because the write continues after the response of the worker. */
  async function queryUntil(sql: string, done: (data: Result["data"]) => boolean): Promise<Result> {
    const deadline = Date.now() + 60_000;
    for (;;) {
      const result = (await (await send(sql)).json().catch(() => ({ data: [] }))) as Result;
      if (done(result.data) || Date.now() > deadline) return result;
    }
  }

  it("a deployed worker writes points, and the SQL API returns them", async () => {
    assert.match((await wrangler.run(["deploy"])).text, /env\.EVENTS \(events\)/);
    for (const path of ["/a?n=1", "/a?n=2&blob=it's", "/b?n=4"]) await platform.visit("measured", path);
    const sql = `SELECT index1 AS path, SUM(_sample_interval) AS n, SUM(_sample_interval * double1) / SUM(_sample_interval) AS mean
      FROM events WHERE timestamp > NOW() - INTERVAL '1' DAY GROUP BY path ORDER BY n DESC`;
    const result = await queryUntil(sql, (data) => data.reduce((sum, row) => sum + Number(row["n"]), 0) === 3);
    assert.deepEqual(result, {
      meta: [
        { name: "path", type: "String" },
        { name: "n", type: "UInt64" },
        { name: "mean", type: "Float64" },
      ],
      data: [
        { path: "/a", n: 2, mean: 1.5 },
        { path: "/b", n: 1, mean: 4 },
      ],
      rows: 2,
    });
    assert.deepEqual((await query("SELECT double1 FROM events WHERE blob1 = 'it''s'")).data, [{ double1: 2 }]);
    const tables = await queryUntil("SHOW TABLES", (data) => data.length === 2);
    assert.deepEqual(tables.data, [{ dataset: "DEFAULT_NAME" }, { dataset: "events" }]);
  });

  it("supports the output formats and queries in the URL", async () => {
    const lines = await send("SELECT double1 FROM events ORDER BY double1 LIMIT 2 FORMAT JSONEachRow");
    assert.equal(lines.headers.get("content-type"), "application/x-ndjson");
    assert.equal(await lines.text(), '{"double1":1}\n{"double1":2}\n');
    const inUrl = await send("", {}, `?query=${encodeURIComponent("SELECT count() FROM events")}`);
    assert.deepEqual(((await inUrl.json()) as Result).data, [{ "count()": 3 }]);
    const missing = await send("", {});
    assert.deepEqual([missing.status, await missing.text()], [400, "Query string error: missing field `query`"]);
  });

  it("errors are plain text with the published status", async () => {
    for (const [sql, text] of [
      ["SELECT nonexistent FROM events", "Input was invalid: cannot select unknown column: nonexistent"],
      ["DELETE FROM events", "Input was invalid: only SELECT and SHOW statements are supported"],
      ["SELECT 1 FROM nothing", "Input was invalid: unknown table: nothing"],
    ]) {
      const response = await send(sql!);
      assert.deepEqual([response.status, await response.text()], [422, text]);
    }
    const stranger = await send("SELECT 1", {
      method: "POST",
      body: "SELECT 1",
      headers: { authorization: "Bearer x" },
    });
    assert.ok([401, 403].includes(stranger.status), String(stranger.status));
  });
});
