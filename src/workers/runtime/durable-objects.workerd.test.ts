import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import { silentLog, systemClock } from "../../kernel/index.ts";
import type { AssetSite } from "../assets/site/site.ts";
import { createLocalWorkerCalls } from "../bindings/services/runtime-calls.ts";
import { createServiceBindingService } from "../bindings/services/service.ts";
import { createObjectAlarms } from "../objects/alarms.ts";
import type { ObjectNamespace } from "../objects/port.ts";
import { createObjectStorage, type ObjectStorage } from "../objects/storage.ts";
import type { Binding } from "../scripts/script.ts";
import type { Invocation, MailActions, WorkerRuntime } from "./port.ts";
import { mailOf, noActions, noServices, scriptOf, startRuntime } from "./runtime.testing.ts";

const workerCode = (edition: string) => `
import { DurableObject } from "cloudflare:workers";
export class Counter extends DurableObject {
  started = Math.random();
  constructor(ctx, env) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(async () => { this.initial = (await ctx.storage.get("n")) ?? 0; });
  }
  edition() { return "${edition}"; }
  instance() { return this.started; }
  add(by) {
    const n = (this.ctx.storage.kv.get("n") ?? 0) + by;
    this.ctx.storage.kv.put("n", n);
    return n;
  }
  async get() { return [this.initial, await this.ctx.storage.get("n"), this.ctx.id.name ?? null]; }
  sql(text, ...values) { return this.ctx.storage.sql.exec(text, ...values).toArray(); }
  rolledBack() {
    try {
      this.ctx.storage.transactionSync(() => { this.ctx.storage.kv.put("n", -1); throw new Error("undo"); });
    } catch {}
    return this.ctx.storage.kv.get("n");
  }
  async soon(ms) { await this.ctx.storage.setAlarm(Date.now() + ms); }
  async alarm() { this.ctx.storage.kv.put("alarms", (this.ctx.storage.kv.get("alarms") ?? 0) + 1); }
  alarms() { return this.ctx.storage.kv.get("alarms") ?? 0; }
  stub() { return { twice: (x) => x * 2 }; }
  fail() { throw new RangeError("failed"); }
  fetch(request) {
    if (request.headers.get("upgrade") !== "websocket")
      return Response.json({ url: request.url, method: request.method, header: request.headers.get("x-reelpost-object"), name: this.ctx.id.name });
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server, ["tag"]);
    server.serializeAttachment({ joined: this.started });
    return new Response(null, { status: 101, webSocket: client });
  }
  webSocketMessage(socket, message) {
    const { joined } = socket.deserializeAttachment();
    socket.send(JSON.stringify([message, this.ctx.getWebSockets("tag").length, joined === this.started]));
  }
}
export class Old {
  constructor(state) { this.state = state; }
  async fetch() {
    await this.state.storage.put("a", 1);
    let sql = "available";
    try { this.state.storage.sql.exec("select 1"); } catch (err) { sql = err.message; }
    return Response.json([await this.state.storage.get("a"), sql !== "available"]);
  }
}
export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const [, name, method] = pathname.split("/");
    const stub = env.COUNTER.getByName(name);
    if (request.headers.get("upgrade") === "websocket" || method === "fetch") return stub.fetch(request);
    if (method === "old") return env.OLD.get(env.OLD.newUniqueId()).fetch("https://x/");
    if (method === "ids") {
      const id = env.COUNTER.idFromName("a");
      const unique = env.COUNTER.newUniqueId({ jurisdiction: "eu" });
      return Response.json([id.equals(env.COUNTER.idFromString(id.toString())), unique.toString().length, env.COUNTER.jurisdiction("eu").idFromName("a").toString().length]);
    }
    try {
      const args = JSON.parse(searchParams.get("args") ?? "[]");
      if (method === "stub") { const got = await stub.stub(); return Response.json(await got.twice(21)); }
      return Response.json((await stub[method](...args)) ?? null);
    } catch (err) {
      return Response.json({ error: err.name + ": " + err.message });
    }
  },
};`;

const COUNTER = "a".repeat(32);
const NAMESPACES: ObjectNamespace[] = [
  { id: COUNTER, className: "Counter", sqlite: true },
  { id: "b".repeat(32), className: "Old", sqlite: false },
];
const OWNER = "c".repeat(32);
const BINDINGS: Binding[] = [
  { type: "durable_object_namespace", name: "COUNTER", class_name: "Counter" },
  { type: "durable_object_namespace", name: "OLD", class_name: "Old" },
];
const CALLER_BINDINGS: Binding[] = ["COUNTER", "AGAIN", "OLD"].map((name) => ({
  type: "durable_object_namespace",
  name,
  script_name: "counters",
  class_name: name === "OLD" ? "Old" : "Counter",
  namespace_id: name === "OLD" ? "b".repeat(32) : COUNTER,
}));

/** Static assets of a version: one file, which contains the name of the version. */
const assetsOf = (edition: string): AssetSite => ({
  async handle(request, response) {
    if (request.url !== "/edition.txt") return false;
    response.end(edition);
    return true;
  },
  serve: () => Promise.reject(new Error("not used")),
});

describe("Durable Objects in workerd", () => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-objects-"));
  let storage: ObjectStorage;
  let runtime: WorkerRuntime;
  let serverUrl = "";
  let currentWorker = "counters";
  const invocations: Invocation[] = [];
  const server = createServer((request, response) => void runtime.fetch(currentWorker, request, response));
  server.on("upgrade", (request, socket, head) => runtime.upgrade(currentWorker, request, socket, head));

  function start(options: { idleMs?: number } = {}) {
    storage = createObjectStorage({ directory: folder, clock: systemClock, log: silentLog });
    const service = createServiceBindingService({
      calls: createLocalWorkerCalls({
        runtime: { entrypoint: (...call) => runtime.entrypoint(...call) },
        log: silentLog,
      }),
    });
    runtime = startRuntime({ objects: storage, services: { ...noServices, service }, ...options });
    runtime.onInvocation((invocation) => void invocations.push(invocation));
  }
  const deploy = (edition: string, key?: string) =>
    runtime.deploy(
      scriptOf(workerCode(edition), {
        name: "counters",
        version: edition,
        ...(key !== undefined && { key }),
        bindings: BINDINGS,
        objects: { owner: OWNER, namespaces: NAMESPACES },
        assets: assetsOf(edition),
      }),
      { start: false },
    );
  const callWorker = async (path: string, ...args: unknown[]): Promise<unknown> =>
    (await fetch(`${serverUrl}/${path}?args=${encodeURIComponent(JSON.stringify(args))}`)).json();

  before(async () => {
    start();
    await deploy("one");
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    serverUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await runtime.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("support RPC, key-value and SQL storage, and transactions", async () => {
    assert.equal(await callWorker("a/add", 2), 2);
    assert.equal(await callWorker("a/add", 3), 5);
    assert.equal(await callWorker("b/add", 1), 1);
    assert.deepEqual(await callWorker("a/get"), [0, 5, "a"]);
    assert.equal(await callWorker("a/rolledBack"), 5);
    await callWorker("a/sql", "create table t (x)");
    await callWorker("a/sql", "insert into t values (?)", "é");
    assert.deepEqual(await callWorker("a/sql", "select x from t"), [{ x: "é" }]);
    assert.equal(await callWorker("a/stub"), 42);
    assert.deepEqual(await callWorker("a/fail"), { error: "RangeError: failed" });
    assert.deepEqual(await callWorker("a/ids"), [true, 64, 64]);
    assert.deepEqual(await callWorker("x/old"), [1, true]);
  });

  test("are listed page by page", async () => {
    const firstPage = await storage.list(OWNER, COUNTER, { limit: 1 });
    assert.deepEqual([firstPage.items.length, firstPage.total, firstPage.next], [1, 2, firstPage.items[0]!.id]);
    const secondPage = await storage.list(OWNER, COUNTER, { limit: 1, after: firstPage.next });
    assert.deepEqual([secondPage.items.length, secondPage.next], [1, undefined]);
    assert.ok(
      [...firstPage.items, ...secondPage.items].every(({ id, hasStoredData }) => id.length === 64 && hasStoredData),
    );
  });

  test("an object event is a separate invocation", async () => {
    invocations.length = 0;
    await callWorker("a/fetch");
    const isRecorded = (eventName: string) =>
      invocations.some(({ event }) => (event.kind === "other" ? event.name : event.kind) === eventName);
    await until(() => isRecorded("Counter") && isRecorded("fetch"));
  });

  test("a WebSocket stays open while its object hibernates", async () => {
    const socket = new WebSocket(`${serverUrl.replace("http", "ws")}/ws/`);
    await once(socket, "open");
    const send = async (text: string) => {
      socket.send(text);
      const [data] = (await once(socket, "message")) as [Buffer];
      return JSON.parse(data.toString()) as unknown;
    };
    assert.deepEqual(await send("one"), ["one", 1, true]);
    // workerd evicts a hibernatable object after 10 s without events.
    const woken = async () => ((await send("two")) as unknown[])[2] === false;
    await until(woken, { everyMs: 11_000 });
    socket.terminate();
  });

  test("stored data survives a process exit, and alarms fire without a request", async (t) => {
    await callWorker("alarmed/soon", 8000);
    await callWorker("kept/add", 7);
    await runtime.close();
    assert.ok((await storage.nextAlarm({ owner: OWNER, namespaces: NAMESPACES }))! > Date.now() - 60_000);
    start();
    await deploy("one");
    const woken: string[] = [];
    const alarms = createObjectAlarms({
      storage,
      wake: async ({ name }) => (await runtime.readExports(name), woken.push(name), true),
      clock: systemClock,
      log: silentLog,
    });
    t.after(() => alarms.close());
    invocations.length = 0;
    alarms.watch([{ name: "counters", objects: { owner: OWNER, namespaces: NAMESPACES } }]);
    // The alarm handler may end before the process has reported its exports.
    await until(() => woken.length > 0 && invocations.some(isAlarm));
    assert.deepEqual(woken, ["counters"]);
    assert.equal(await callWorker("alarmed/alarms"), 1);
    assert.deepEqual(await callWorker("kept/get"), [7, 7, "kept"]);
  });

  test("an idle process ends and starts again for its next alarm", async (t) => {
    await runtime.close();
    start({ idleMs: 300 });
    await deploy("one");
    const alarms = createObjectAlarms({
      storage,
      wake: async ({ name }) => (await runtime.readExports(name), true),
      clock: systemClock,
      log: silentLog,
    });
    t.after(() => alarms.close());
    const before = (await callWorker("idle/alarms")) as number;
    const released = new Promise<void>((resolve) => void storage.onReleased(() => resolve()));
    await callWorker("idle/soon", 10_000);
    await released;
    invocations.length = 0;
    await until(() => invocations.some(isAlarm));
    assert.equal(await callWorker("idle/alarms"), before + 1);
    await runtime.close();
    start();
    await deploy("one");
  });

  test("another worker reaches the same objects with fetch, RPC and stubs, and receives their errors", async () => {
    await runtime.deploy(scriptOf(workerCode("caller"), { name: "caller", bindings: CALLER_BINDINGS }));
    currentWorker = "caller";
    try {
      assert.equal(await callWorker("shared/add", 4), 4);
      assert.equal(await callWorker("shared/stub"), 42);
      assert.deepEqual(await callWorker("shared/fail"), { error: "RangeError: failed" });
      assert.equal(await callWorker("shared/edition"), "one");
      assert.deepEqual(await callWorker("x/old"), [1, true]);
      const response = await fetch(`${serverUrl}/shared/fetch?b=1`, { method: "POST", body: "x" });
      assert.deepEqual(await response.json(), {
        url: `${serverUrl}/shared/fetch?b=1`,
        method: "POST",
        header: null,
        name: "shared",
      });
      const socket = new WebSocket(`${serverUrl.replace("http", "ws")}/shared/`);
      await once(socket, "open");
      socket.send("hi");
      const [data] = (await once(socket, "message")) as [Buffer];
      assert.deepEqual(JSON.parse(data.toString()), ["hi", 1, true]);
      socket.terminate();
    } finally {
      currentWorker = "counters";
    }
    assert.deepEqual(((await callWorker("shared/get")) as unknown[]).slice(1), [4, "shared"]);
  });

  test("waitUntil() work settles while an object that left the body of its request unread keeps the invocation open", async () => {
    const source = `
import { DurableObject } from "cloudflare:workers";
export class Counter extends DurableObject {
  fetch() { return new Response("unread"); }
  reset() { this.ctx.abort("reset"); }
}
export default {
  async email(message, { COUNTER }, ctx) {
    const stub = COUNTER.getByName("unread");
    if (message.to === "reset@example.net") return stub.reset().catch(() => {});
    const later = stub.fetch("https://x/", { method: "POST", body: "{}" });
    ctx.waitUntil(later.then(() => ctx.waitUntil(message.forward("late@example.net"))));
  },
};`;
    await runtime.deploy(
      scriptOf(source, {
        name: "unread",
        bindings: [{ type: "durable_object_namespace", name: "COUNTER", class_name: "Counter" }],
        objects: { owner: OWNER, namespaces: [{ id: "d".repeat(32), className: "Counter", sqlite: true }] },
      }),
    );
    const forwarded: string[] = [];
    const actions: MailActions = {
      ...noActions,
      forward: async (recipient) => (forwarded.push(recipient), { messageId: "<1@reelpost>" }),
    };
    invocations.length = 0;
    const { outcome, waitUntilSettled, ended } = await runtime.email("unread", mailOf(), actions);
    assert.equal(outcome, "ok");
    const first = await Promise.race([waitUntilSettled!.then(() => "settled"), ended.then(() => "ended")]);
    assert.equal(first, "settled");
    assert.deepEqual(forwarded, ["late@example.net"]);
    assert.ok(invocations.every(({ script }) => script !== "unread"));
    await runtime.email("unread", mailOf(undefined, { to: "reset@example.net" }), noActions);
    await ended;
    assert.ok(invocations.some(({ event }) => event.kind === "email" && event.to === "b@example.net"));
    await runtime.remove("unread");
  });

  test("after a deploy, only the new process has the files open", async () => {
    const instance = await callWorker("a/instance");
    await deploy("two");
    assert.equal(await callWorker("a/edition"), "two");
    assert.notEqual(await callWorker("a/instance"), instance);
    assert.equal(objectProcesses().length, 1);
  });

  test("the version deployed last runs, even for requests addressed to the previous version", async () => {
    await deploy("two");
    await deploy("three", "key-3");
    currentWorker = "key-3";
    assert.equal(await callWorker("a/edition"), "three");
    currentWorker = "counters";
    assert.equal(await callWorker("a/edition"), "three");
    assert.equal(await (await fetch(`${serverUrl}/edition.txt`)).text(), "three");
    assert.equal(objectProcesses().length, 1);
    runtime.claimObjects("counters");
    assert.equal(await callWorker("a/edition"), "two");
    currentWorker = "key-3";
    assert.equal(await (await fetch(`${serverUrl}/edition.txt`)).text(), "two");
    currentWorker = "counters";
    assert.equal(objectProcesses().length, 1);
    await runtime.remove("key-3");
  });

  test(
    "only the worker's system user can open the directory",
    { skip: process.getuid?.() !== 0 && "needs root" },
    () => {
      const { uid, mode } = statSync(join(folder, OWNER));
      assert.deepEqual([uid, mode & 0o777], [65534, 0o700]);
      assert.equal(statSync(folder).mode & 0o777, 0o700);
    },
  );

  test("deleting a namespace ends the process and deletes its files", async () => {
    await storage.remove(OWNER, [COUNTER]);
    assert.ok(!existsSync(join(folder, OWNER, COUNTER)));
    assert.deepEqual(await callWorker("a/get"), [0, null, "a"]);
    await storage.sweep(async () => new Map());
    assert.deepEqual(readdirSync(folder), []);
  });

  /** Ids of processes that have a database of the objects open. */
  function objectProcesses(): string[] {
    return readdirSync("/proc").filter((pid) => {
      try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/maps`, "latin1").includes(join(folder, OWNER));
      } catch {
        return false;
      }
    });
  }
});

const isAlarm = ({ event }: Invocation): boolean =>
  event.kind === "other" && event.object?.event !== null && "scheduledTime" in (event.object?.event ?? {});

async function until(holds: () => boolean | Promise<boolean>, { everyMs = 20 } = {}): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, "the condition was not met in time");
    await new Promise((resolve) => void setTimeout(resolve, everyMs));
  }
}
