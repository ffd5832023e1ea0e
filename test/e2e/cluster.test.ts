import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { startCluster, type Cluster } from "../support/postgres.ts";
import { spawnServe, temporaryFolder, type SpawnServeOptions } from "../support/serve.ts";
import { ask, createApi, TOKEN, type Scope } from "./serve-client.ts";

const ECHO = `export default {
  async fetch(request) {
    if (request.headers.get("upgrade") === "websocket") {
      const [client, server] = Object.values(new WebSocketPair());
      server.accept();
      server.addEventListener("message", ({ data }) => server.send("echo " + data));
      return new Response(null, { status: 101, webSocket: client });
    }
    return new Response([request.url, request.headers.get("cf-connecting-ip"), await request.text()].join(" "));
  },
};`;

async function until(done: () => Promise<boolean>, what: string) {
  for (const deadline = Date.now() + 60_000; !(await done()); await sleep(50)) assert.ok(Date.now() < deadline, what);
}

describe("nodes of one PostgreSQL with separate roles", async () => {
  let database: Cluster | undefined;
  before(async () => void (database = await startCluster()));
  after(() => database?.stop());

  async function shared(t: Scope) {
    assert.ok(database, "PostgreSQL is not installed");
    return {
      REELPOST_API_TOKEN: TOKEN,
      REELPOST_DATABASE_URL: await database.createDatabase(),
      REELPOST_SECRETS_KEY: randomBytes(32).toString("base64"),
      REELPOST_OBJECTS_DIR: await temporaryFolder(t, "objects"),
      REELPOST_HTTP_TRUSTED_PROXIES: "127.0.0.1",
      REELPOST_CLUSTER_LISTEN: "127.0.0.1:0",
      REELPOST_CLUSTER_DRAIN_SECONDS: "0",
    };
  }

  const startNode = (t: Scope, env: Record<string, string>, roles: string, options: SpawnServeOptions = {}) =>
    spawnServe(t, { ...options, env: { ...env, ...options.env }, args: ["--roles", roles] });

  test("each node answers for the roles of the other", async (t) => {
    const env = await shared(t);
    const [front, back] = await Promise.all([startNode(t, env, "api"), startNode(t, env, "workers,playback")]);
    const api = createApi(front.ready, TOKEN);
    await api.deploy("echo", ECHO);
    const host = "echo.main.localhost";
    const headers = { "x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https" };
    await until(async () => (await ask(front.ready, "/", { host })).status === 200, "the worker responds");
    for (const node of [front, back]) {
      const { status, body } = await ask(node.ready, "/a?b=c", { host, method: "POST", headers, body: "content" });
      assert.equal(status, 200);
      assert.equal(body, `https://${host}/a?b=c 203.0.113.7 content`);
      assert.equal(
        (await ask(node.ready, "/client/v4/user/tokens/verify", { headers: { authorization: `Bearer ${TOKEN}` } }))
          .status,
        200,
      );
    }
    const large = "x".repeat(5_000_000);
    assert.ok((await ask(front.ready, "/", { host, method: "POST", body: large })).body.endsWith(large));

    const socket = new WebSocket(front.ready.url.replace("http", "ws"), { headers: { host } });
    await once(socket, "open");
    socket.send("one");
    const [data] = (await once(socket, "message")) as [Buffer];
    assert.equal(data.toString(), "echo one");
    socket.close();

    // Pages of the process itself are never those of another node.
    assert.equal((await ask(back.ready, "/healthz")).status, 200);
    assert.equal((await ask(front.ready, "/no-such-page")).status, 404);
    // A request for a role that no node has.
    await back.stop();
    await until(async () => (await ask(front.ready, "/", { host })).status === 404, "no node has the role");
  });

  test("requests are answered while nodes are killed and started", async (t) => {
    const env = await shared(t);
    const front = await startNode(t, env, "api");
    const workers = [await startNode(t, env, "workers"), await startNode(t, env, "workers")];
    const api = createApi(front.ready, TOKEN);
    await api.deploy("echo", ECHO);
    const host = "echo.main.localhost";
    for (const worker of workers)
      await until(async () => (await ask(worker.ready, "/", { host })).status === 200, "the worker responds");
    const end = new AbortController();
    const statuses = new Map<number, number>();
    const clients = Array.from({ length: 4 }, async () => {
      while (!end.signal.aborted) {
        const { status } = await ask(front.ready, "/", { host });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    });
    workers[0]!.child.kill("SIGKILL");
    await workers[0]!.exited;
    const third = await startNode(t, env, "workers");
    await until(async () => (await ask(third.ready, "/", { host })).status === 200, "the worker responds");
    await workers[1]!.stop();
    const before = statuses.get(200)!;
    await until(async () => (statuses.get(200) ?? 0) > before + 20, "the third node responds");
    end.abort();
    await Promise.all(clients);
    assert.deepEqual([...statuses.keys()], [200]);
  });
});
