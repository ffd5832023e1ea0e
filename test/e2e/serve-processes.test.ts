import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { Agent } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { startCluster, type Cluster } from "../support/postgres.ts";
import { spawnServe, temporaryFolder, type ServeProcess } from "../support/serve.ts";
import { sendHttpRequest, createApi, formOf, sendMail, TOKEN, type Api, type Scope } from "./serve-client.ts";

const WORKER = `export default {
  fetch() { return new Response("hello"); },
  email(message) { message.setReject("seen"); },
};`;

const COUNTER = `export default {
  async fetch(request, { DB }) {
    return new Response(String(await DB.prepare("select count(*) from t").first("count(*)")));
  },
};`;

const CHAT = `import { DurableObject } from "cloudflare:workers";
export class Chat extends DurableObject {
  add(by) {
    const n = (this.ctx.storage.kv.get("n") ?? 0) + by;
    this.ctx.storage.kv.put("n", n);
    return n;
  }
  fail() { throw new RangeError("failed"); }
  async soon() { await this.ctx.storage.setAlarm(Date.now()); }
  alarm() { this.add(1000); }
  async fetch(request) {
    if (request.headers.get("upgrade") !== "websocket") return new Response(request.method + " " + (await request.text()));
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  webSocketMessage(socket, message) { socket.send(message + " " + this.ctx.getWebSockets().length); }
}
export default {
  async fetch(request, { CHAT }) {
    const chat = CHAT.getByName("lobby");
    const { pathname } = new URL(request.url);
    if (pathname === "/fetch" || request.headers.get("upgrade") === "websocket") return chat.fetch(request);
    if (pathname === "/fail") return new Response(await chat.fail().catch((err) => err.name + ": " + err.message));
    if (pathname === "/soon") return new Response(await chat.soon());
    return new Response(String(await chat.add(Number(pathname.slice(1)))));
  },
};`;

/** Resolves with the ids of both processes once they run. The list of child processes in proc(5) may be incomplete. */
async function serversOf(pid: number): Promise<number[]> {
  for (;;) {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
    const servers = [1, 2].flatMap((number) => children.find((child) => isServer(child, number)) ?? []);
    if (servers.length === 2) return servers;
    await sleep(50);
  }
}

/** True if the process has accepted one of these connections. */
function hasConnection(pid: number, sockets: readonly Socket[]): boolean {
  const ports = new Set(sockets.map(({ localPort }) => localPort));
  // Columns: number, local address, remote address, state, queues, timers, retransmits, user, timeout, inode.
  const inodes = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , remote]) => ports.has(Number.parseInt(remote?.split(":")[1] ?? "0", 16)))
    .map((columns) => `socket:[${columns[9]}]`);
  const opened = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      // Closed meanwhile.
      return "";
    }
  });
  return inodes.some((inode) => opened.includes(inode));
}

/** The supervisor also has child processes of programs such as ffmpeg. */
function isServer(pid: number, number: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").includes(`REELPOST_PROCESS=${number}/2`);
  } catch {
    return false;
  }
}

test("rejects an invalid number of processes", async (t) => {
  await assert.rejects(spawnServe(t, { args: ["--processes", "many"] }), /Invalid number of processes: .*many/);
});

describe("serve --processes 2 on SQLite", () => twoProcesses(async () => ({}), checkObjects));

describe("serve --processes 2 on PostgreSQL", () => {
  let cluster: Cluster | undefined;
  before(async () => void (cluster = await startCluster()));
  after(() => cluster?.stop());
  twoProcesses(
    async () => {
      assert.ok(cluster, "PostgreSQL is not installed");
      return { REELPOST_DATABASE_URL: await cluster.createDatabase() };
    },
    async (_, { server, api, agents }) => {
      const uploaded = await uploadChat(server, api, agents[1]!);
      assert.equal(uploaded.status, 400);
      assert.match(uploaded.body, /Durable Objects are stored in local files/);
    },
  );
});

interface Running {
  server: ServeProcess;
  api: Api;
  /** Process ids of both processes, and an agent for each. */
  servers: number[];
  agents: Agent[];
}

function twoProcesses(
  database: () => Promise<Record<string, string>>,
  checkObjects: (t: Scope, running: Running) => Promise<void>,
) {
  const start = async (t: Scope) =>
    spawnServe(t, {
      dataDirectory: await temporaryFolder(t),
      args: ["--processes", "2"],
      env: {
        REELPOST_API_TOKEN: TOKEN,
        REELPOST_SECRETS_KEY: randomBytes(32).toString("base64"),
        ...(await database()),
      },
    });

  test("processes share the ports, and the death of one affects only its own connections", async (t) => {
    const server = await start(t);
    const api = createApi(server.ready, TOKEN);
    await api.deploy("greeter", WORKER);
    const servers = await serversOf(server.child.pid!);
    for (let n = 0; n < 10; n++) {
      assert.equal((await sendHttpRequest(server.ready, "/", { host: "greeter.main.localhost" })).body, "hello");
      assert.match((await sendMail(server.ready, "greeter@main.localhost")).text, /^555 .*seen/);
    }

    // Opens connections until both processes have one.
    const { port } = new URL(server.ready.url);
    const sockets: Socket[] = [];
    while (!servers.every((pid) => hasConnection(pid, sockets))) {
      assert.ok(sockets.length < 500, "both processes accept connections");
      const socket = connect(Number(port), "127.0.0.1");
      await once(socket, "connect");
      sockets.push(socket);
    }
    const closed = new Set<unknown>();
    for (const socket of sockets) {
      socket.on("error", () => {}).on("close", () => closed.add(socket));
      t.after(() => socket.destroy());
    }
    assert.doesNotMatch(server.log(), /process ended/, "both processes run from the start");
    assert.doesNotMatch(server.log(), /REELPOST_PROCESS/);
    // Writes through both processes, of which one is killed meanwhile.
    const acknowledged: string[] = [];
    const creations = Array.from({ length: 40 }, async (_, n) => {
      const created = await api
        .call("post", "storage/kv/namespaces", { body: { title: `n${n}` } })
        .catch(() => undefined);
      if (created?.status === 200) acknowledged.push(`n${n}`);
    });
    await Promise.race(creations);
    process.kill(servers[1]!, "SIGKILL");
    await Promise.all(creations);
    const stored: { title: string }[] = await api.ok("get", "storage/kv/namespaces?per_page=100");
    const titles = new Set(stored.map(({ title }) => title));
    assert.deepEqual(
      acknowledged.filter((title) => !titles.has(title)),
      [],
    );
    assert.ok(acknowledged.length > 0);
    // Until the killed process is gone, the system passes connections to it.
    while (!server.log().includes("serve: process exited, will restart")) await sleep(20);
    // The idle connections of earlier requests may belong to the killed process.
    const agent = new Agent();
    for (let n = 0; n < 20; n++)
      assert.equal((await sendHttpRequest(server.ready, "/", { host: "greeter.main.localhost", agent })).body, "hello");
    await serversOf(server.child.pid!);
    assert.ok(closed.size < sockets.length, "the other process keeps its connections");
    assert.match(server.log(), /"process":2/);

    // SIGHUP replaces one process after the other, and no request fails. A session without a message gets 421 from a
    // process that stops, and its client tries again.
    const replaced = await serversOf(server.child.pid!);
    process.kill(server.child.pid!, "SIGHUP");
    while (!server.log().includes("serve: all processes restarted")) {
      assert.equal((await sendHttpRequest(server.ready, "/", { host: "greeter.main.localhost", agent })).body, "hello");
      assert.match((await sendMail(server.ready, "greeter@main.localhost")).text, /^(555 .*seen|421 4\.3\.2 )/);
    }
    for (const pid of await serversOf(server.child.pid!)) assert.ok(!replaced.includes(pid));
    const { code } = await server.stop();
    assert.equal(code, 0);
  });

  test("all processes use the same D1 databases and Durable Objects, and another server cannot use their data directory", async (t) => {
    const server = await start(t);
    const api = createApi(server.ready, TOKEN);
    const { uuid } = await api.ok("post", "d1/database", { body: { name: "notes" } });
    await api.deploy("counter", COUNTER, { bindings: [{ type: "d1", name: "DB", id: uuid }] });
    const agents: Agent[] = [];
    const servers = await serversOf(server.child.pid!);
    for (const pid of servers) agents.push(await agentOf(t, server.ready.url, pid, servers));
    const call = async (agent: Agent, path: string, body: unknown) => {
      const response = await sendHttpRequest(server.ready, `/client/v4/accounts/${api.account}/d1/database/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify(body),
        agent,
      });
      return JSON.parse(response.body) as { errors: unknown[]; result: Record<string, unknown> };
    };
    for (const [n, agent] of agents.entries()) {
      const insert = { sql: "create table if not exists t(n); insert into t values (7)" };
      assert.deepEqual((await call(agent, `${uuid}/query`, insert)).errors, []);
      const counted = await sendHttpRequest(server.ready, "/", { host: "counter.main.localhost", agent });
      assert.equal(counted.body, String(n + 1));
      // The export runs in the primary process; either one reports its end.
      let exported = await call(agent, `${uuid}/export`, { output_format: "polling" });
      while (exported.result.status === "active")
        exported = await call(agent, `${uuid}/export`, {
          output_format: "polling",
          current_bookmark: exported.result.at_bookmark,
        });
      assert.equal(exported.result.status, "complete", JSON.stringify(exported));
    }
    await api.ok("delete", `d1/database/${uuid}`);
    for (const agent of agents)
      assert.equal((await call(agent, `${uuid}/query`, { sql: "select 1" })).errors.length, 1);
    await checkObjects(t, { server, api, servers, agents });
    await assert.rejects(spawnServe(t, { dataDirectory: server.ready.dataDirectory }), /is using the data directory/);
  });
}

/** All objects run in the primary process, also after it was killed. */
async function checkObjects(t: Scope, { server, api, agents, servers }: Running) {
  const [first, second] = agents as [Agent, Agent];
  const ask = async (agent: Agent, path: string, body?: string) =>
    (
      await sendHttpRequest(server.ready, path, {
        host: "chat.main.localhost",
        agent,
        ...(body !== undefined && { method: "POST", body }),
      })
    ).body;
  // The second process accepts the upload.
  const uploaded = await uploadChat(server, api, second);
  assert.equal(uploaded.status, 200, uploaded.body);
  await api.ok("post", "workers/scripts/chat/subdomain", { body: { enabled: true } });

  assert.deepEqual([await ask(second, "/1"), await ask(first, "/1"), await ask(second, "/1")], ["1", "2", "3"]);
  for (const agent of agents) {
    assert.equal(await ask(agent, "/fetch", "é"), "POST é");
    assert.equal(await ask(agent, "/fetch"), "GET ");
    assert.equal(await ask(agent, "/fail"), "RangeError: failed");
  }
  // Both connections belong to the same object.
  const sockets: WebSocket[] = [];
  for (const pid of servers) {
    const socket = await connectionTo(t, server.ready.url, pid, servers);
    const chat = new WebSocket(server.ready.url.replace("http", "ws"), {
      headers: { host: "chat.main.localhost" },
      createConnection: (() => socket) as never,
    });
    chat.on("error", () => {});
    t.after(async () => chat.terminate());
    await once(chat, "open");
    sockets.push(chat);
  }
  for (const chat of sockets) {
    const received = once(chat, "message");
    chat.send("hello");
    assert.equal(String((await received)[0]), "hello 2");
  }
  await ask(second, "/soon");
  let count = await ask(second, "/0");
  while (count === "3") count = await ask(second, "/0");
  assert.equal(count, "1003");
  const [namespace] = await api.ok("get", "workers/durable_objects/namespaces");
  const objects = JSON.parse(
    (
      await sendHttpRequest(
        server.ready,
        `/client/v4/accounts/${api.account}/workers/durable_objects/namespaces/${namespace.id}/objects`,
        { agent: second, headers: { authorization: `Bearer ${TOKEN}` } },
      )
    ).body,
  ) as { result: unknown[] };
  assert.equal(objects.result.length, 1);

  const closed = sockets.map((chat) => once(chat, "close"));
  process.kill(servers[0]!, "SIGKILL");
  await Promise.all(closed);
  // A call that is under way when the primary process dies fails; later ones wait for the next primary process.
  let answer = await ask(second, "/1");
  while (!/^\d+$/.test(answer)) answer = await ask(second, "/1");
  assert.equal(answer, "1004");
  const folder = join(server.ready.dataDirectory, "durable-objects");
  assert.notDeepEqual(readdirSync(folder), []);
  const deleted = await sendHttpRequest(server.ready, `/client/v4/accounts/${api.account}/workers/scripts/chat`, {
    method: "DELETE",
    agent: second,
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  assert.equal(deleted.status, 200, deleted.body);
  assert.deepEqual(readdirSync(folder), []);
}

/** Resolves with an agent whose only connection was accepted by this process. */
async function agentOf(t: Scope, url: string, pid: number, servers: readonly number[]): Promise<Agent> {
  const socket = await connectionTo(t, url, pid, servers);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agent.createConnection = () => socket;
  return agent;
}

/** Resolves with a connection that this process has accepted. */
async function connectionTo(t: Scope, url: string, pid: number, servers: readonly number[]): Promise<Socket> {
  const { port } = new URL(url);
  for (let attempts = 0; attempts < 500; attempts++) {
    const socket = connect(Number(port), "127.0.0.1");
    t.after(async () => void socket.destroy());
    await once(socket, "connect");
    // Connections wait until one of the processes accepts them.
    while (!servers.some((each) => hasConnection(each, [socket]))) await sleep(5);
    if (hasConnection(pid, [socket])) return socket;
    socket.destroy();
  }
  throw new Error(`process ${pid} accepted no connection`);
}

/** Uploads the worker CHAT through an agent. */
async function uploadChat({ ready }: ServeProcess, { account }: Api, agent: Agent) {
  const encoded = new Response(
    formOf(CHAT, {
      bindings: [{ type: "durable_object_namespace", name: "CHAT", class_name: "Chat" }],
      migrations: { new_tag: "v1", steps: [{ new_sqlite_classes: ["Chat"] }] },
    }),
  );
  return sendHttpRequest(ready, `/client/v4/accounts/${account}/workers/scripts/chat`, {
    method: "PUT",
    agent,
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": encoded.headers.get("content-type")! },
    body: await encoded.text(),
  });
}
