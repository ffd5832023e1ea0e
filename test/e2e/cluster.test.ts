import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rename } from "node:fs/promises";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { WebSocket } from "ws";
import { systemClock } from "../../src/kernel/index.ts";
import { startCluster, type Cluster } from "../support/postgres.ts";
import { spawnServe, temporaryFolder, type SpawnServeOptions } from "../support/serve.ts";
import { sendHttpRequest, createApi, servePlatform, TOKEN, type Scope } from "./serve-client.ts";

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

/** Starts a TCP proxy in front of PostgreSQL that can block its clients. */
async function startProxy(t: Scope, target: URL) {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((socket) => {
    if (isCut) return void socket.destroy();
    const upstream = connect(Number(target.port), target.hostname);
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on("error", () => {}).once("close", () => (sockets.delete(one), other.destroy()));
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const drop = () => sockets.forEach((socket) => socket.destroy());
  t.after(async () => {
    server.close();
    drop();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: Object.assign(new URL(target), { port: String(port) }).href,
    cut: () => ((isCut = true), drop()),
    restore: () => (isCut = false),
  };
}

async function until(done: () => Promise<boolean>, what: string) {
  for (const deadline = Date.now() + 60_000; !(await done()); await sleep(50)) assert.ok(Date.now() < deadline, what);
}

describe("nodes with different roles on one PostgreSQL server", async () => {
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

  test("each node forwards requests for the roles of the other", async (t) => {
    const env = await shared(t);
    const [front, back] = await Promise.all([startNode(t, env, "api"), startNode(t, env, "workers,playback")]);
    const api = createApi(front.ready, TOKEN);
    await api.deploy("echo", ECHO);
    const host = "echo.main.localhost";
    const headers = { "x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https" };
    await until(async () => (await sendHttpRequest(front.ready, "/", { host })).status === 200, "the worker responds");
    for (const node of [front, back]) {
      const { status, body } = await sendHttpRequest(node.ready, "/a?b=c", {
        host,
        method: "POST",
        headers,
        body: "content",
      });
      assert.equal(status, 200);
      assert.equal(body, `https://${host}/a?b=c 203.0.113.7 content`);
      assert.equal(
        (
          await sendHttpRequest(node.ready, "/client/v4/user/tokens/verify", {
            headers: { authorization: `Bearer ${TOKEN}` },
          })
        ).status,
        200,
      );
    }
    const large = "x".repeat(5_000_000);
    assert.ok((await sendHttpRequest(front.ready, "/", { host, method: "POST", body: large })).body.endsWith(large));

    const socket = new WebSocket(front.ready.url.replace("http", "ws"), { headers: { host } });
    await once(socket, "open");
    socket.send("one");
    const [data] = (await once(socket, "message")) as [Buffer];
    assert.equal(data.toString(), "echo one");
    socket.close();

    // Requests for pages of the process itself are never forwarded.
    assert.equal((await sendHttpRequest(back.ready, "/healthz")).status, 200);
    assert.equal((await sendHttpRequest(front.ready, "/no-such-page")).status, 404);
    // Now no node has the role.
    await back.stop();
    await until(async () => (await sendHttpRequest(front.ready, "/", { host })).status === 404, "no node has the role");
  });

  test("lose no request while they are killed and restarted", async (t) => {
    const env = await shared(t);
    const front = await startNode(t, env, "api");
    const workers = [await startNode(t, env, "workers"), await startNode(t, env, "workers")];
    const api = createApi(front.ready, TOKEN);
    await api.deploy("echo", ECHO);
    const host = "echo.main.localhost";
    for (const worker of workers)
      await until(
        async () => (await sendHttpRequest(worker.ready, "/", { host })).status === 200,
        "the worker responds",
      );
    const end = new AbortController();
    const statuses = new Map<number, number>();
    const clients = Array.from({ length: 4 }, async () => {
      while (!end.signal.aborted) {
        const { status } = await sendHttpRequest(front.ready, "/", { host });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    });
    workers[0]!.child.kill("SIGKILL");
    await workers[0]!.exited;
    const third = await startNode(t, env, "workers");
    await until(async () => (await sendHttpRequest(third.ready, "/", { host })).status === 200, "the worker responds");
    await workers[1]!.stop();
    const before = statuses.get(200)!;
    await until(async () => (statuses.get(200) ?? 0) > before + 20, "the third node responds");
    end.abort();
    await Promise.all(clients);
    assert.deepEqual([...statuses.keys()], [200]);
  });

  test("report readiness by role, and show the nodes, their leases and clocks to the operator", async (t) => {
    const env = await shared(t);
    const front = await startNode(t, env, "api", { env: { REELPOST_CLUSTER_NAME: "front" } });
    const back = await startNode(t, env, "encode,playback", { env: { REELPOST_CLUSTER_NAME: "back" } });
    for (const [node, role, status, reason] of [
      [front, "api", 200, "ready\n"],
      [front, "smtp", 503, "this process does not have the role smtp\n"],
      [back, "encode", 200, "ready\n"],
      [front, "none", 400, /^Unknown role\. The roles are api, /],
    ] as const) {
      const response = await sendHttpRequest(node.ready, `/readyz?role=${role}`);
      assert.equal(response.status, status);
      if (typeof reason === "string") assert.equal(response.body, reason);
      else assert.match(response.body, reason);
    }
    const api = createApi(front.ready, TOKEN);
    const state = await api.ok("get", "server/cluster");
    const names = (nodes: { name: string; roles: string[]; draining: boolean }[]) =>
      nodes.map(({ name, roles, draining }) => [name, roles.join(), draining]);
    assert.deepEqual(names(state.nodes), [
      ["front", "api", false],
      ["back", "encode,playback", false],
    ]);
    assert.equal(state.node, state.nodes[0].id);
    assert.match(state.nodes[1].address, /^127\.0\.0\.1:\d+$/);
    assert.equal(state.clock.agrees, true);
    // A measurement is only as exact as its round trip to the database is short.
    await until(
      async () => Math.abs((await api.ok("get", "server/cluster")).clock.difference_ms) < 500,
      "the clock agrees with that of the database",
    );
    assert.equal(state.database.kind, "postgresql");
    assert.deepEqual(state.database.standbys, []);
    assert.equal(state.objects.error, null);
    assert.ok(state.objects.round_trip_ms >= 0);
    const metrics = (await sendHttpRequest(front.ready, "/metrics")).body;
    assert.match(metrics, /^reelpost_cluster_nodes 2$/m);
    assert.match(metrics, /^reelpost_cluster_clock_difference_seconds -?\d/m);
    await rename(env.REELPOST_OBJECTS_DIR, `${env.REELPOST_OBJECTS_DIR}-away`);
    await until(
      async () => (await sendHttpRequest(back.ready, "/readyz?role=encode")).status === 503,
      "the store is missed",
    );
    assert.match(
      (await sendHttpRequest(back.ready, "/readyz?role=encode")).body,
      /^The object store does not respond: /,
    );
    assert.equal((await sendHttpRequest(back.ready, "/readyz")).status, 200);
    await rename(`${env.REELPOST_OBJECTS_DIR}-away`, env.REELPOST_OBJECTS_DIR);
    await until(
      async () => (await sendHttpRequest(back.ready, "/readyz?role=encode")).status === 200,
      "the store is found",
    );
  });

  test("a stopping node announces this, and accepts requests until its drain period ends", async (t) => {
    const env = { ...(await shared(t)), REELPOST_CLUSTER_DRAIN_SECONDS: "6" };
    const [front, back] = await Promise.all([startNode(t, env, "api"), startNode(t, env, "workers")]);
    const api = createApi(front.ready, TOKEN);
    await api.deploy("echo", ECHO);
    const host = "echo.main.localhost";
    await until(async () => (await sendHttpRequest(back.ready, "/", { host })).status === 200, "the worker responds");
    const stopped = back.stop();
    await until(
      async () => (await sendHttpRequest(back.ready, "/readyz")).status === 503,
      "it reports that it is stopping",
    );
    assert.equal((await sendHttpRequest(back.ready, "/readyz")).body, "stopping\n");
    assert.equal((await sendHttpRequest(back.ready, "/", { host })).status, 200);
    await until(
      async () => (await api.ok("get", "server/cluster")).nodes[1]?.draining !== false,
      "the other node is notified",
    );
    assert.deepEqual(await stopped, { code: 0, signal: null });
    assert.equal((await api.ok("get", "server/cluster")).nodes.length, 1);
  });

  test("a killed node and a node without access to PostgreSQL count as dead after six seconds", async (t) => {
    const env = await shared(t);
    const proxy = await startProxy(t, new URL(env.REELPOST_DATABASE_URL));
    const front = await startNode(t, env, "api");
    const cutOff = await startNode(t, env, "workers", { env: { REELPOST_DATABASE_URL: proxy.url } });
    const killed = await startNode(t, env, "smtp");
    const api = createApi(front.ready, TOKEN);
    const listed = async (): Promise<{ roles: string[]; silent_ms: number }[]> =>
      (await api.ok("get", "server/cluster")).nodes;
    const hasRole = async (role: string) => (await listed()).some(({ roles }) => roles.join() === role);
    assert.equal((await listed()).length, 3);
    killed.child.kill("SIGKILL");
    proxy.cut();
    for (const role of ["smtp", "workers"])
      await until(async () => {
        // The node list is read every two seconds, or later on a busy machine.
        for (const { silent_ms: silent } of await listed()) assert.ok(silent < 6000 + 20_000, `${silent} ms`);
        return !(await hasRole(role));
      }, `the node with the role ${role} is dead`);
    await until(
      async () => (await sendHttpRequest(cutOff.ready, "/readyz")).status === 503,
      "it reports the lost database",
    );
    proxy.restore();
    await until(() => hasRole("workers"), "the node is live again");
    await until(async () => (await sendHttpRequest(cutOff.ready, "/readyz")).status === 200, "the node is ready again");
  });

  test("requests to a node that hangs go to another node once it counts as dead", async (t) => {
    const env = await shared(t);
    const front = await startNode(t, env, "api");
    const workers = [await startNode(t, env, "workers"), await startNode(t, env, "workers")];
    const api = createApi(front.ready, TOKEN);
    await api.deploy("echo", ECHO);
    const host = "echo.main.localhost";
    for (const worker of workers)
      await until(
        async () => (await sendHttpRequest(worker.ready, "/", { host })).status === 200,
        "the worker responds",
      );
    workers[0]!.child.kill("SIGSTOP");
    const statuses = await Promise.all(
      Array.from({ length: 16 }, async () => (await sendHttpRequest(front.ready, "/", { host })).status),
    );
    assert.deepEqual(new Set(statuses), new Set([200]));
    workers[0]!.child.kill("SIGCONT");
    await until(
      async () => (await api.ok("get", "server/cluster")).nodes.length === 3,
      "the node is live again after the pause",
    );
  });

  test("reject a node with an incompatible version before it changes the schema", async (t) => {
    const env = await shared(t);
    const node = await startNode(t, env, "api");
    const client = new Client({ connectionString: env.REELPOST_DATABASE_URL });
    await client.connect();
    t.after(() => client.end());
    await client.query("update cluster_nodes set version = '99.0.0', id = 'other', seen_at = seen_at + 600000");
    await assert.rejects(startNode(t, env, "workers"), /exit code 1.*versions_apart/s);
    await client.query("delete from cluster_nodes where id = 'other'");
    await node.stop();
  });

  test("a node whose clock is 10 s ahead does not start, and does not change the schema", async (t) => {
    const env = { ...(await shared(t)), REELPOST_CLUSTER_LISTEN: "" };
    const clock = { ...systemClock, now: () => systemClock.now() + 10_000 };
    await assert.rejects(servePlatform(t, { env, clock }), { kind: "clockSkew" });
    const client = new Client({ connectionString: env.REELPOST_DATABASE_URL });
    await client.connect();
    t.after(() => client.end());
    assert.equal((await client.query("select to_regclass('cluster_nodes') as name")).rows[0].name, null);
  });

  test("a node requires PostgreSQL, and an address that other nodes can connect to", async (t) => {
    const env = await shared(t);
    await assert.rejects(
      spawnServe(t, { env: { ...env, REELPOST_DATABASE_URL: "" } }),
      /exit code 1.*database_needed/s,
    );
    for (const [listen, code] of [
      ["0.0.0.0:0", "address_needed"],
      ["8790", "bad_address"],
    ])
      await assert.rejects(
        startNode(t, { ...env, REELPOST_CLUSTER_LISTEN: listen! }, "api"),
        new RegExp(`exit code 1.*${code}`, "s"),
      );
  });
});
