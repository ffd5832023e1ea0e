import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ANALYTICS_QUERY_BYTES } from "../../src/workers/index.ts";
import { createScope, makeProject, serve, type TestServer } from "./dev-bench.ts";

const WORKER = `
export default {
  fetch(request, env) {
    const { pathname } = new URL(request.url);
    env.EVENTS.writeDataPoint({ indexes: [pathname], blobs: ["seen"], doubles: [2.5] });
    return new Response("worker");
  },
};`;

describe("the SQL API of Analytics Engine in development", () => {
  const scope = createScope();
  let server: TestServer;
  before(async () => {
    const folder = await makeProject(
      scope,
      { "src/index.ts": WORKER },
      { analytics_engine_datasets: [{ binding: "EVENTS", dataset: "events" }] },
    );
    server = await serve(scope, folder);
  });
  after(scope.close);

  const send = (init: RequestInit, query = "", account = "any") =>
    fetch(`${server.url}/client/v4/accounts/${account}/analytics_engine/sql${query}`, init);
  const post = (body: string, headers = {}) => send({ method: "POST", body, headers });

  it("returns the points that workers have written, by POST and by GET, for any account", async () => {
    for (const path of ["/a", "/a", "/b"]) await (await fetch(server.url + path)).text();
    const sql = "SELECT index1 AS path, SUM(double1) AS sum FROM events GROUP BY path ORDER BY path";
    const wanted = [
      { path: "/a", sum: 5 },
      { path: "/b", sum: 2.5 },
    ];
    // The write continues after the response of the worker.
    const deadline = Date.now() + 60_000;
    for (;;) {
      const response = await post(sql, { authorization: "Bearer any" });
      const text = await response.text();
      if (response.ok && JSON.stringify((JSON.parse(text) as { data: unknown }).data) === JSON.stringify(wanted)) break;
      assert.ok(Date.now() < deadline, text);
    }
    const byGet = await send({}, `?query=${encodeURIComponent(`${sql} FORMAT TabSeparated`)}`, "0".repeat(32));
    assert.deepEqual([byGet.status, await byGet.text()], [200, "/a\t5\n/b\t2.5\n"]);
  });

  it("rejects invalid and long queries, other methods, and requests from pages of other origins", async () => {
    const answers = await Promise.all([
      post("SELECT nothing FROM"),
      send({}),
      send({ method: "DELETE" }),
      post("x".repeat(ANALYTICS_QUERY_BYTES + 1)),
      post("SHOW TABLES", { origin: "https://elsewhere.example" }),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [422, 400, 405, 413, 403],
    );
    assert.match(await answers[0]!.text(), /^Input was invalid: /);
  });

  it("leaves other paths to the worker", async () => {
    assert.equal(await (await fetch(`${server.url}/client/v4/accounts/any/analytics_engine`)).text(), "worker");
  });
});
