import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { WebSocket } from "ws";
import { listen } from "../../src/kernel/index.ts";
import { createScope, mailer, makeProject, serve, type TestServer } from "./dev-bench.ts";

const ACCOUNT = "0".repeat(32);
const WORKER = `
export default {
  async email(message, env) {
    console.log("subject", message.headers.get("subject"));
    await env.CACHE.put("last", message.from);
  },
  async fetch(request, env) {
    await env.CACHE.put("key", "value");
    await env.FILES.put("folder/file.txt", "content");
    await env.DB.exec("create table if not exists notes (text)");
    await env.DB.prepare("insert into notes values (?)").bind("a note").run();
    env.POINTS.writeDataPoint({ blobs: ["one"], doubles: [1], indexes: ["i"] });
    await env.JOBS.send({ n: 1 });
    return new Response("done");
  },
  async scheduled() {},
};
`;

describe("the API of reelpost dev", () => {
  const scope = createScope();
  after(scope.close);
  let server: TestServer;
  let url = "";

  before(async () => {
    const folder = await makeProject(
      scope,
      { "src/index.ts": WORKER },
      {
        name: "explorer",
        kv_namespaces: [{ binding: "CACHE", id: "cache-id" }],
        r2_buckets: [{ binding: "FILES", bucket_name: "files" }],
        d1_databases: [{ binding: "DB", database_name: "notes", database_id: "5a1d3c1e-0000-4000-8000-000000000001" }],
        analytics_engine_datasets: [{ binding: "POINTS", dataset: "points" }],
        queues: { producers: [{ binding: "JOBS", queue: "jobs" }] },
        triggers: { crons: ["*/5 * * * *"] },
        vars: { GREETING: "hello" },
      },
    );
    server = await serve(scope, folder);
    const http = createServer((request, response) => void server.api.handleLocal(request, response));
    ({ url } = await listen(http, { host: "127.0.0.1", port: 0 }));
    scope.after(() => {
      http.closeAllConnections();
      http.close();
    });
    assert.equal(await (await fetch(server.url)).text(), "done");
  });

  const get = async <Result>(path: string): Promise<Result> => {
    const response = await fetch(`${url}/client/v4${path}`);
    const { success, errors, result } = (await response.json()) as {
      success: boolean;
      errors: unknown;
      result: Result;
    };
    assert.ok(success, `${path}: ${JSON.stringify(errors)}`);
    return result;
  };
  const base = `/accounts/${ACCOUNT}`;

  it("has one account and one user", async () => {
    const accounts = await get<{ id: string; name: string }[]>("/accounts");
    assert.deepEqual(
      accounts.map(({ id, name }) => [id, name]),
      [[ACCOUNT, "reelpost dev"]],
    );
    assert.equal((await get<{ email: string }>("/user")).email, "developer@localhost");
  });

  it("lists the storage of the configuration, with its data", async () => {
    const namespaces = await get<{ id: string; title: string }[]>(`${base}/storage/kv/namespaces`);
    assert.deepEqual(
      namespaces.map(({ id, title }) => [id, title]),
      [["cache-id", "CACHE"]],
    );
    assert.deepEqual(
      (await get<{ name: string }[]>(`${base}/storage/kv/namespaces/cache-id/keys`)).map(({ name }) => name),
      ["key"],
    );
    const { buckets } = await get<{ buckets: { name: string }[] }>(`${base}/r2/buckets`);
    assert.deepEqual(
      buckets.map(({ name }) => name),
      ["files"],
    );
    assert.deepEqual(
      (await get<{ key: string }[]>(`${base}/r2/buckets/files/objects`)).map(({ key }) => key),
      ["folder/file.txt"],
    );
    const [database] = await get<{ uuid: string; name: string }[]>(`${base}/d1/database`);
    assert.equal(database!.name, "DB");
    const details = await get<{ num_tables: number }>(`${base}/d1/database/${database!.uuid}`);
    assert.equal(details.num_tables, 1);
    const queried = await fetch(`${url}/client/v4${base}/d1/database/${database!.uuid}/query`, {
      method: "POST",
      body: JSON.stringify({ sql: "select text from notes" }),
    });
    const { result } = (await queried.json()) as { result: { results: { text: string }[] }[] };
    assert.equal(result[0]!.results[0]!.text, "a note");
  });

  it("lists queues with their messages, and data points", async () => {
    const [queue] = await get<{ queue_id: string; queue_name: string; producers: { script: string }[] }[]>(
      `${base}/queues`,
    );
    assert.deepEqual([queue!.queue_name, queue!.producers.map(({ script }) => script)], ["jobs", ["explorer"]]);
    const sql = await fetch(
      `${url}/client/v4${base}/analytics_engine/sql?query=${encodeURIComponent("SELECT blob1 FROM points")}`,
    );
    assert.match(await sql.text(), /"blob1":"one"/);
  });

  it("lists workers with bindings and schedules", async () => {
    const workers = await get<{ id: string; last_deployed_from: string }[]>(`${base}/workers/scripts`);
    assert.deepEqual(
      workers.map(({ id, last_deployed_from: from }) => [id, from]),
      [["explorer", "dev"]],
    );
    const { bindings } = await get<{ bindings: { name: string; type: string }[] }>(
      `${base}/workers/scripts/explorer/settings`,
    );
    assert.deepEqual(bindings.map(({ name }) => name).sort(), ["CACHE", "DB", "FILES", "GREETING", "JOBS", "POINTS"]);
    const { schedules } = await get<{ schedules: { cron: string }[] }>(`${base}/workers/scripts/explorer/schedules`);
    assert.deepEqual(
      schedules.map(({ cron }) => cron),
      ["*/5 * * * *"],
    );
  });

  it("streams the logs of a worker, including those of messages", async () => {
    const created = await fetch(`${url}/client/v4${base}/workers/scripts/explorer/tails`, { method: "POST" });
    const { result } = (await created.json()) as { result: { url: string } };
    // The dashboard passes the host of the development server.
    const socket = new WebSocket(result.url.replace(new URL(url).host, new URL(server.url).host), "trace-v1");
    scope.after(() => socket.terminate());
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    const record = new Promise<{ event: { rcptTo?: string }; logs: { message: unknown[] }[] }>((resolve) =>
      socket.once("message", (data: Buffer) => resolve(JSON.parse(data.toString()))),
    );
    await mailer(scope, server).sendMail({ from: "ada@example.com", to: "x@example.org", subject: "tailed" });
    const { event, logs } = await record;
    assert.deepEqual([event.rcptTo, logs.map(({ message }) => message)], ["x@example.org", [["subject", "tailed"]]]);
  });

  it("has videos and live inputs", async () => {
    assert.deepEqual(await get(`${base}/stream`), []);
    assert.deepEqual(
      await get<{ liveInputs: unknown[] }>(`${base}/stream/live_inputs`).then((list) => list.liveInputs ?? list),
      [],
    );
  });

  it("has no operations that only a production server has", async () => {
    const response = await fetch(`${url}/client/v4/user/tokens`);
    assert.equal(response.status, 404);
    const deletion = await fetch(`${url}/client/v4${base}/workers/scripts/explorer`, { method: "DELETE" });
    assert.ok([404, 405].includes(deletion.status));
  });
});
