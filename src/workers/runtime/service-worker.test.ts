import { buildSync } from "esbuild";
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { startWorkerd } from "../../../test/support/workerd.ts";
import { silentLog } from "../../kernel/index.ts";
import { type Db, migrate, openFsObjects, openSqlite } from "../../store/index.ts";
import { createD1Service } from "../bindings/d1/index.ts";
import { createKvService, kvMigrations, type KvService } from "../bindings/kv/index.ts";
import { createR2Service, r2Migrations, type R2Service } from "../bindings/r2/index.ts";
import { createSendEmailService } from "../bindings/send-email/service.ts";
import type { Binding, Invocation, MailActions, WorkerRuntime, WorkerScript } from "../index.ts";
import type { MailBuilderFields } from "../ports.ts";
import { loadIsolateModules } from "./isolate-modules.ts";
import { mailOf, noActions, noServices, scriptOf, startRuntime } from "./runtime.testing.ts";

const BINDINGS: Binding[] = [
  { type: "plain_text", name: "WORD", text: "plain" },
  { type: "secret_text", name: "SECRET", text: "hidden" },
  { type: "json", name: "env", json: { list: [1, 2] } },
  { type: "kv_namespace", name: "KV", namespace_id: "n" },
  { type: "r2_bucket", name: "BUCKET", bucket_name: "bucket" },
  { type: "d1", name: "DB", id: "d" },
  { type: "send_email", name: "MAIL" },
];

describe("a script in service-worker format", () => {
  let folder: string;
  let db: Db;
  let services: { kv: KvService; r2: R2Service; d1: ReturnType<typeof createD1Service> };
  let runtime: WorkerRuntime;
  let base: string;
  const sent: { built?: MailBuilderFields; raw?: string; binding: string }[] = [];
  const invocations: Invocation[] = [];
  const server = createServer((request, response) => void runtime.fetch("test", request, response));

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "reelpost-scripts-"));
    db = openSqlite({ path: join(folder, "test.db") });
    await migrate(db, [...kvMigrations, ...r2Migrations]);
    const objects = await openFsObjects({ folder: join(folder, "objects") });
    services = {
      kv: createKvService({ db, objects }),
      r2: createR2Service({ db, objects }),
      d1: createD1Service({ directory: join(folder, "d1"), processes: 1 }),
    };
    const sendEmail = createSendEmailService({
      log: silentLog,
      port: {
        sendBuilt: async ({ binding }, built) => ({
          messageId: `<${sent.push({ built, binding: binding.name })}@reelpost>`,
        }),
        sendRaw: async ({ binding }, { raw }) => ({
          messageId: `<${sent.push({ raw: await text(raw), binding: binding.name })}@reelpost>`,
        }),
      },
    });
    runtime = startRuntime({ services: { ...noServices, ...services, sendEmail } });
    runtime.onInvocation((invocation) => void invocations.push(invocation));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    base = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await runtime.close();
    await Promise.all([services.kv.store.close(), services.r2.buckets.close(), services.d1.databases.close()]);
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const deploy = (source: string, more: Partial<WorkerScript> = {}) =>
    runtime.deploy(scriptOf(source, { format: "service-worker", bindings: BINDINGS, ...more }));
  const onFetch = (body: string, more?: Partial<WorkerScript>) =>
    deploy(`addEventListener("fetch", (event) => { ${body} })`, more);
  const get = async (path = "/") => {
    const response = await fetch(`${base}${path}`);
    return { status: response.status, body: await response.text() };
  };
  let failures = 0;
  /** Calls a worker that fails, and waits for the record. Records of earlier requests may still arrive. */
  async function failure(path = "/") {
    const url = `${path}?failure=${++failures}`;
    const recorded = new Promise<Invocation>((resolve) => {
      const stop = runtime.onInvocation((invocation) => {
        if (invocation.event.kind !== "fetch" || invocation.event.url !== url) return;
        stop();
        resolve(invocation);
      });
    });
    const { status } = await get(url);
    const { outcome, exception, logs } = await recorded;
    return { status, outcome, exception, logs };
  }

  it("has every kind of binding as a global, even at its top level", async () => {
    await deploy(`
      const early = [WORD, SECRET, env.list, typeof KV.put, typeof BUCKET.put, typeof DB.prepare, typeof MAIL.send, self.WORD === WORD, Object.keys(globalThis).filter((name) => name.includes("reelpost"))];
      async function use() {
        await KV.put("k", "from kv");
        await BUCKET.put("o", "from r2");
        await DB.exec("create table t (a text)");
        await DB.prepare("insert into t values (?)").bind("from d1").run();
        const mail = await MAIL.send({ from: "a@example.com", to: "b@example.net", subject: "s", text: "t" });
        return Response.json([early, await KV.get("k"), await (await BUCKET.get("o")).text(), await DB.prepare("select a from t").first("a"), mail]);
      }
      addEventListener("fetch", (event) => event.respondWith(use()));`);
    sent.length = 0;
    assert.deepEqual(JSON.parse((await get()).body), [
      ["plain", "hidden", [1, 2], "function", "function", "function", "function", true, []],
      "from kv",
      "from r2",
      "from d1",
      { messageId: "<1@reelpost>" },
    ]);
    assert.deepEqual(sent, [
      { built: { from: "a@example.com", to: "b@example.net", subject: "s", text: "t" }, binding: "MAIL" },
    ]);
  });

  it("handles a message: forwards, replies, writes, sends, rejects", async () => {
    const requested: unknown[] = [];
    const actions: MailActions = {
      ...noActions,
      forward: async (recipient, headers) => ({
        messageId: `<${requested.push(["forward", recipient, headers])}@reelpost>`,
      }),
      replyBuilt: async ({ subject }) => ({ messageId: `<${requested.push(["reply", subject])}@reelpost>` }),
      reply: async ({ from, to, raw }) => ({
        messageId: `<${requested.push(["reply", from, to, await text(raw)])}@reelpost>`,
      }),
    };
    await deploy(`addEventListener("email", async (event) => {
      const { message } = event;
      const { EmailMessage } = await import("cloudflare:email");
      await message.forward("x@example.org", new Headers({ "X-Tag": "1" }));
      await message.reply({ from: "b@example.net", subject: "re", text: "t" });
      await message.reply(new EmailMessage("b@example.net", message.from, "Subject: raw\\r\\n\\r\\n"));
      await DB.exec("create table mail (sender text, body text)");
      await DB.prepare("insert into mail values (?, ?)").bind(message.from, await new Response(message.raw).text()).run();
      await MAIL.send(new EmailMessage(message.to, "c@example.net", "Subject: copy\\r\\n\\r\\n"));
      message.setReject(JSON.stringify([event.type, event instanceof ExtendableEvent, message.headers.get("subject"), await DB.prepare("select * from mail").first()]));
    })`, { bindings: [...BINDINGS.filter(({ type }) => type !== "d1"), { type: "d1", name: "DB", id: "mail" }] }); // prettier-ignore
    sent.length = 0;
    const { outcome, exception, rejected } = await runtime.email("test", mailOf("Subject: hi\r\n\r\nbody"), actions);
    assert.deepEqual([outcome, exception], ["ok", undefined]);
    assert.deepEqual(JSON.parse(rejected!), [
      "email",
      true,
      "hi",
      { sender: "a@example.com", body: "Subject: hi\r\n\r\nbody" },
    ]);
    assert.deepEqual(requested, [["forward", "x@example.org", [["x-tag", "1"]]], ["reply", "re"], ["reply", "b@example.net", "a@example.com", "Subject: raw\r\n\r\n"]]); // prettier-ignore
    assert.deepEqual(sent, [{ raw: "Subject: copy\r\n\r\n", binding: "MAIL" }]);
  });

  it("completes a message when its listeners' work is done, with several listeners in order", async () => {
    await deploy(`const seen = [];
      addEventListener("email", (event) => { seen.push(1); event.waitUntil(scheduler.wait(5).then(() => { event.waitUntil(scheduler.wait(5).then(() => event.message.setReject(seen.join()))) })) });
      addEventListener("email", { handleEvent() { seen.push(2) } });`);
    assert.equal((await runtime.email("test", mailOf(), noActions)).rejected, "1,2");
    await deploy(
      `addEventListener("email", () => { throw new RangeError("first") }); addEventListener("email", () => console.log("never"))`,
    );
    const failed = await runtime.email("test", mailOf(), noActions);
    await failed.ended;
    assert.deepEqual(
      [failed.outcome, failed.exception?.name, failed.exception?.message, invocations.at(-1)!.logs],
      ["exception", "RangeError", "first", []],
    );
    await deploy(`addEventListener("email", (event) => event.waitUntil(Promise.reject(new Error("late"))))`);
    assert.equal((await runtime.email("test", mailOf(), noActions)).exception?.message, "late");
    await onFetch("");
    assert.equal(
      (await runtime.email("test", mailOf(), noActions)).exception?.message,
      "Handler does not export an email() function",
    );
  });

  it("gets an event like the runtime's own", async () => {
    await onFetch(
      `event.respondWith(Response.json([event.type, event instanceof FetchEvent, event instanceof ExtendableEvent, String(event), event.target === globalThis, event.request.method, new URL(event.request.url).pathname]))`,
    );
    assert.deepEqual(JSON.parse((await get("/path")).body), [
      "fetch",
      true,
      true,
      "[object FetchEvent]",
      true,
      "GET",
      "/path",
    ]);
  });

  it("responds with the argument of the first respondWith(), and does not call later listeners", async () => {
    await deploy(`let calls = 0;
      const removed = () => { throw new Error("removed") };
      addEventListener("fetch", removed); removeEventListener("fetch", removed);
      addEventListener("fetch", () => { calls++ });
      addEventListener("fetch", { handleEvent(event) { calls++; event.respondWith(scheduler.wait(1).then(() => new Response("second of " + calls))) } });
      addEventListener("fetch", (event) => { calls += 10; event.respondWith(new Response("third")) });`);
    assert.equal((await get()).body, "second of 2");
    assert.equal((await get()).body, "second of 4");
    await onFetch(
      `event.respondWith(new Response("once")); try { event.respondWith(new Response("twice")) } catch (error) { console.log(error.name, error.message) }`,
    );
    assert.equal((await get()).body, "once");
  });

  it("fails with workerd's messages, or with its own where workerd would contact an origin", async () => {
    const path = "new URL(event.request.url).pathname";
    await deploy(`addEventListener("fetch", (event) => {
      const path = ${path};
      if (path === "/throw") throw new TypeError("thrown");
      if (path === "/after") { event.respondWith(new Response("given")); throw new Error("thrown after"); }
      if (path === "/reject") event.respondWith(Promise.reject(new Error("rejected")));
      if (path === "/text") event.respondWith("text");
      if (path === "/object") event.respondWith(Promise.resolve({}));
      if (path === "/late") event.waitUntil(scheduler.wait(1).then(() => event.respondWith(new Response(""))).catch((error) => console.log(error.name, error.message)));
    });
    addEventListener("fetch", (event) => { if (${path} === "/throw") console.log("never") });`);
    const reported = async (path: string) => {
      const { status, outcome, exception, logs } = await failure(path);
      assert.deepEqual([status, outcome], [500, "exception"], path);
      return [exception?.message, ...logs.map(({ message }) => message.join(" "))];
    };
    assert.deepEqual(await reported("/throw"), ["thrown"]);
    assert.deepEqual(await reported("/after"), ["thrown after"]);
    assert.deepEqual(await reported("/reject"), ["rejected"]);
    assert.deepEqual(await reported("/text"), [
      "Failed to execute 'respondWith' on 'FetchEvent': parameter 1 is not of type 'Promise'.",
    ]);
    assert.deepEqual(await reported("/object"), [
      "Incorrect type for Promise: the Promise did not resolve to 'Response'.",
    ]);
    const none =
      "FetchEvent handler did not call respondWith() before returning, and there is no origin behind this worker that could answer.";
    assert.deepEqual(await reported("/none"), [none]);
    assert.deepEqual(await reported("/late"), [
      none,
      "InvalidStateError Too late to call FetchEvent.respondWith(). It must be called synchronously in the event handler.",
    ]);
  });

  it("continues its waitUntil() work after its response", async () => {
    await onFetch(`if (event.request.url.endsWith("/seen")) return event.respondWith(KV.get("done").then((value) => new Response(value)));
      event.waitUntil(new Promise((release) => { globalThis.release = release }).then(() => KV.put("done", "after")).then(() => console.log("written")));
      event.passThroughOnException();
      event.respondWith(new Response("early"));
      scheduler.wait(20).then(release);`);
    const ended = new Promise<Invocation>((resolve) => {
      const stop = runtime.onInvocation((invocation) => (stop(), resolve(invocation)));
    });
    assert.equal((await get()).body, "early");
    assert.deepEqual(
      (await ended).logs.map(({ message }) => message),
      [["written"]],
    );
    assert.equal((await get("/seen")).body, "after");
  });

  it("runs as a classic script: in sloppy mode, on the global scope, without the names of a module", async () => {
    await deploy(`var declared = 1; function named() {} undeclared = 2;
      const found = [this === globalThis, globalThis.declared, typeof globalThis.named, undeclared, typeof module, typeof exports, typeof require, (function () { return this === globalThis })()];
      with ({ inner: 3 }) { found.push(inner) }
      addEventListener("fetch", (event) => event.respondWith(Response.json(found)));`, { compatibilityFlags: ["disallow_importable_env"] }); // prettier-ignore
    assert.deepEqual(JSON.parse((await get()).body), [
      true,
      1,
      "function",
      2,
      "undefined",
      "undefined",
      "undefined",
      true,
      3,
    ]);
  });

  it("may have bindings of any name, including those of globals", async () => {
    const names = ["fetch", "console", "navigator", "undefined", "with space", "constructor"];
    const bindings = names.map((name): Binding => ({ type: "plain_text", name, text: `my ${name}` }));
    await onFetch(
      `event.respondWith(Response.json([fetch, console, navigator, typeof undefined, self["with space"], constructor]))`,
      { bindings },
    );
    assert.deepEqual(JSON.parse((await get()).body), [
      "my fetch",
      "my console",
      "my navigator",
      "undefined",
      "my with space",
      "my constructor",
    ]);
  });

  it("shows its own lines in stack traces, without wrapper frames", async () => {
    const source = `// ☀\naddEventListener("fetch", (event) => {\n  helper();\n});\nfunction helper() {\n  throw new Error("here");\n}`;
    await deploy(source);
    assert.deepEqual((await failure()).exception?.stack?.trim().split("\n"), [
      "at helper (index.js:6:9)",
      "    at index.js:3:3",
    ]);
    await deploy("", {
      main: "./src/a.js",
      modules: [{ name: "./src/a.js", kind: "esm", content: Buffer.from(source) }],
    });
    assert.deepEqual((await failure()).exception?.stack?.trim().split("\n"), [
      "at helper (src/a.js:6:9)",
      "    at src/a.js:3:3",
    ]);
  });

  it("built from TypeScript reports source positions for messages, requests, and while loading", async () => {
    async function build(contents: string) {
      const { outputFiles } = buildSync({
        stdin: { contents, sourcefile: "src/index.ts", loader: "ts" },
        outfile: "out.js",
        bundle: true,
        format: "iife",
        sourcemap: "external",
        write: false,
      });
      const [sourceMap, content] = [".map", ".js"].map(
        (end) => outputFiles.find(({ path }) => path.endsWith(end))!.text,
      );
      await deploy(content!, { sourceMap });
    }
    await build(
      `interface Unused {}\n\ninterface More {}\nfunction fail(): never {\n  throw new Error("here");\n}\naddEventListener("fetch", fail);\naddEventListener("email" as never, fail);`,
    );
    assert.equal((await failure()).exception?.stack?.trim(), "at fail (src/index.ts:5:9)");
    assert.match(
      (await runtime.email("test", mailOf(), noActions)).exception!.stack!,
      /^Error: here\n +at fail \(src\/index\.ts:5:9\)$/,
    );
    await assert.rejects(
      build(`interface Unused {}\n\nthrow new Error("loading");`),
      /loading\n {2}at src\/index\.ts:3:7\n/,
    );
  });

  it("that fails while loading is rejected with the position", async () => {
    const refusal = (source: string) =>
      deploy(source).then(
        () => assert.fail("the worker was deployed"),
        ({ message }: Error) => message,
      );
    assert.equal(
      await refusal(`\n\nmissing();`),
      "The worker test failed to start: Uncaught ReferenceError: missing is not defined\n  at index.js:3:1",
    );
    assert.equal(
      await refusal(`\nlet a = ;`),
      "The worker test failed to start: Uncaught SyntaxError: Unexpected token ';'\n  at index.js:2:9",
    );
    assert.equal(
      await refusal(`\n\nJSON.parse(";")`),
      `The worker test failed to start: Uncaught SyntaxError: Unexpected token ';', ";" is not valid JSON\n  at index.js:3:6`,
    );
  });
});

it("listeners of scheduled get time and cron, and are awaited", async (t) => {
  const listeners = loadIsolateModules().forScripts.find(({ name }) => name.includes("listeners"))!;
  const workerd = await startWorkerd({
    modules: {
      "main.js": `import { handlersOfListeners } from "./listeners.js";
        const seen = [];
        addEventListener("scheduled", async (event) => { await scheduler.wait(1); event.waitUntil("work"); event.noRetry(); seen.push(event.type, event instanceof ScheduledEvent, event.scheduledTime, event.cron) });
        const handlers = handlersOfListeners();
        export default { async fetch() {
          await handlers.scheduled({ scheduledTime: 5, cron: "* * * * *", noRetry: () => seen.push("noRetry") }, {}, { waitUntil: (work) => seen.push(work) });
          return Response.json([Object.keys(handlers), ...seen]);
        } }`,
      "listeners.js": listeners.source,
    },
  });
  t.after(() => workerd.close());
  assert.deepEqual(await (await workerd.fetch("/")).json(), [
    ["scheduled"],
    "work",
    "noRetry",
    "scheduled",
    true,
    5,
    "* * * * *",
  ]);
});
