import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { Agent, createServer, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { silentLog, type UserError } from "../../kernel/index.ts";
import { createLocalEvents, createSecrets, migrate, openFsObjects, openSqlite } from "../../store/index.ts";
import type { RuntimeOptions } from "../runtime/pool.ts";
import { mailOf, noActions, startRuntime } from "../runtime/runtime.testing.ts";
import { scriptsMigrations } from "../scripts/schema.ts";
import { createScripts } from "../scripts/scripts.ts";
import { author, everyTarget, uploadOf } from "../scripts/scripts.testing.ts";
import { createLiveWorkers } from "./live.ts";

const ACCOUNT = "a".repeat(32);

/** Starts all components with real processes, and a server that forwards requests for `/<script>/…`. */
async function start(t: TestContext, runtimeOptions: Partial<RuntimeOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "live-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, scriptsMigrations);
  const objects = await openFsObjects({ folder: join(folder, "objects") });
  const secrets = createSecrets({ keys: [randomBytes(32)] });
  const events = createLocalEvents({ log: silentLog });
  const ends: (() => Promise<unknown>)[] = [];
  const build = () => {
    const runtime = startRuntime(runtimeOptions);
    const live = createLiveWorkers({ db, objects, secrets, events, runtime });
    const scripts = createScripts({ db, objects, secrets, events, live, targets: everyTarget });
    ends.push(
      () => live.close(),
      () => runtime.close(),
    );
    return { live, scripts, runtime };
  };
  const fixture = build();
  const outcomes: string[] = [];
  // A server that closes an idle connection may do so while a client is sending the next request on it.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const script = request.url!.split("/")[1]!;
    void fixture.live
      .fetch({ account: ACCOUNT, script }, request, response)
      .then(({ outcome }) => outcomes.push(outcome));
  }).listen(0, "127.0.0.1");
  server.on("upgrade", (request, socket, head) =>
    fixture.live.upgrade({ account: ACCOUNT, script: request.url!.split("/")[1]! }, request, socket, head),
  );
  ends.push(async () => (server.closeAllConnections(), server.close()));
  await once(server, "listening");
  t.after(async () => {
    for (const end of ends.reverse()) await end();
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const port = () => (server.address() as AddressInfo).port;
  const agent = new Agent({ keepAlive: true });
  ends.push(async () => agent.destroy());
  const ask = (script: string, headers: Record<string, string> = {}) =>
    new Promise<{ status: number; body: string; headers: IncomingHttpHeaders }>((resolve, reject) => {
      httpRequest({ port: port(), host: "127.0.0.1", path: `/${script}/`, headers, agent }, (response) => {
        text(response).then(
          (body) => resolve({ status: response.statusCode!, body, headers: response.headers }),
          reject,
        );
      })
        .on("error", reject)
        .end();
    });
  return { ...fixture, build, ask, port, outcomes };
}

const saying = (word: string, before = "") =>
  `export default { async fetch() { ${before} return new Response(${JSON.stringify(word)}) }, email(message) { message.setReject(${JSON.stringify(word)}) } };`;

test("an uploaded script responds and reports its handlers and startup time, and one that fails to start changes nothing", async (t) => {
  const { scripts, live, ask } = await start(t);
  assert.equal((await ask("mail")).status, 404);
  const { version } = await scripts.upload(
    ACCOUNT,
    "mail",
    uploadOf(`export default { fetch(_, env) { return new Response(env.KEY) }, email(m) { m.setReject("no") } }`, {
      bindings: [{ type: "secret_text", name: "KEY", text: "s3cret" }],
    }),
    author,
  );
  assert.deepEqual(version.handlers.toSorted(), ["email", "fetch"]);
  assert.ok(version.startupMs > 0 && version.startupMs < 15_000);
  assert.equal((await ask("mail")).body, "s3cret");
  assert.equal((await live.email({ account: ACCOUNT, script: "mail" }, mailOf(), noActions)).rejected, "no");
  await assert.rejects(
    scripts.upload(ACCOUNT, "mail", uploadOf(`throw new Error("at start"); export default {}`), author),
    (err: UserError) => err.code === 10021 && /at start/.test(err.message),
  );
  await assert.rejects(
    scripts.upload(ACCOUNT, "mail", uploadOf(`export default {}`, { compatibilityFlags: ["no_such_flag"] }), author),
    (err: UserError) => err.code === 10021 && /no_such_flag/.test(err.message),
  );
  assert.equal((await ask("mail")).body, "s3cret");
  await scripts.changeSecrets(ACCOUNT, "mail", { KEY: "another" }, author);
  assert.equal((await ask("mail")).body, "another");
});

test("no request fails during a series of deploys, rollbacks and secret changes under traffic", async (t) => {
  const { scripts, ask, outcomes } = await start(t);
  const { version } = await scripts.upload(ACCOUNT, "mail", uploadOf(saying("0", "await scheduler.wait(5);")), author);
  const traffic = { on: true, met: new Set<string>(), wrong: [] as string[] };
  const client = async () => {
    while (traffic.on) {
      const { status, body } = await ask("mail");
      traffic.met.add(body);
      if (status !== 200) traffic.wrong.push(`${status} ${body}`);
    }
  };
  const clients = Array.from({ length: 6 }, client);
  for (let i = 1; i <= 8; i++) {
    const upload = uploadOf(saying(String(i), "await scheduler.wait(5);"));
    if (i % 4 === 0)
      await scripts.deploy(ACCOUNT, "mail", { versions: [{ versionId: version.id, percentage: 100 }] }, author);
    else await scripts.upload(ACCOUNT, "mail", upload, author);
    const expected = i % 4 === 0 ? "0" : String(i);
    assert.equal((await ask("mail")).body, expected, "requests after the response reach the new version");
    // On a busy machine, the clients may need longer than a deployment.
    while (!traffic.met.has(expected)) await ask("mail");
    if (i % 3 === 0) await scripts.changeSecrets(ACCOUNT, "mail", { [`S${i}`]: "x" }, author);
  }
  traffic.on = false;
  await Promise.all(clients);
  assert.deepEqual(traffic.wrong, []);
  assert.deepEqual([...new Set(outcomes)], ["ok"]);
});

test("a request that is running while its version is replaced is completed by that version", async (t) => {
  const { scripts, ask, port } = await start(t);
  const inTwoPieces = `export default { fetch(_, env, ctx) {
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    const say = (word) => writer.write(new TextEncoder().encode(word));
    ctx.waitUntil(say("o").then(() => scheduler.wait(400)).then(() => say("ld")).then(() => writer.close()));
    return new Response(readable);
  } }`;
  await scripts.upload(ACCOUNT, "mail", uploadOf(inTwoPieces), author);
  // The first chunk has arrived: the request is running.
  const slow = (await fetch(`http://127.0.0.1:${port()}/mail/`)).body!.pipeThrough(new TextDecoderStream()).getReader();
  assert.equal((await slow.read()).value, "o");
  await scripts.upload(ACCOUNT, "mail", uploadOf(saying("new")), author);
  assert.equal((await ask("mail")).body, "new");
  assert.equal((await slow.read()).value, "ld");
  await scripts.delete(ACCOUNT, "mail");
  assert.equal((await ask("mail")).status, 404);
});

test("a WebSocket survives a deploy for a while, and the next one reaches the new version", async (t) => {
  const { scripts, port } = await start(t);
  const echo = (word: string) =>
    uploadOf(`export default { fetch() {
    const { 0: client, 1: server } = new WebSocketPair();
    server.accept();
    server.addEventListener("message", ({ data }) => server.send(${JSON.stringify(word)} + data));
    return new Response(null, { status: 101, webSocket: client });
  } }`);
  const connect = async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${port()}/chat/`);
    t.after(() => socket.close());
    await once(socket, "open");
    return async (text: string) => {
      socket.send(text);
      return ((await once(socket, "message")) as [MessageEvent])[0].data as string;
    };
  };
  await scripts.upload(ACCOUNT, "chat", echo("old "), author);
  const first = await connect();
  assert.equal(await first("a"), "old a");
  await scripts.upload(ACCOUNT, "chat", echo("new "), author);
  assert.equal(await first("b"), "old b");
  assert.equal(await (await connect())("c"), "new c");
});

test("a restarted server runs nothing until the first request, then the deployed version", async (t) => {
  const { scripts, live, build } = await start(t);
  await scripts.upload(ACCOUNT, "mail", uploadOf(saying("kept")), author);
  await live.close();
  const again = build();
  assert.equal((await again.live.email({ account: ACCOUNT, script: "mail" }, mailOf(), noActions)).rejected, "kept");
});

test("a split deployment serves both versions, and a header selects one", async (t) => {
  const { scripts, ask } = await start(t);
  const old = (await scripts.upload(ACCOUNT, "mail", uploadOf(saying("old")), author)).version;
  const next = await scripts.createVersion(ACCOUNT, "mail", uploadOf(saying("next")), author);
  await scripts.deploy(
    ACCOUNT,
    "mail",
    {
      versions: [
        { versionId: next.id, percentage: 30 },
        { versionId: old.id, percentage: 70 },
      ],
    },
    author,
  );
  let met = 0;
  for (let i = 0; i < 300; i++) if ((await ask("mail")).body === "next") met++;
  // Five standard deviations around 90.
  assert.ok(met > 50 && met < 130, `${met} of 300 requests reached a version of 30 %`);
  const chosen = await Promise.all(
    Array.from({ length: 20 }, () => ask("mail", { "cloudflare-workers-version-overrides": `mail="${next.id}"` })),
  );
  assert.deepEqual([...new Set(chosen.map(({ body }) => body))], ["next"]);
});

test(
  "two hundred workers run on one node, and idle ones use no process",
  // Two hundred starts take minutes on a busy machine.
  { skip: !existsSync("/proc/self/cmdline"), timeout: 600_000 },
  async (t) => {
    const { scripts, ask } = await start(t, { maxProcesses: 8, idleMs: 300 });
    let most = 0;
    const names = Array.from({ length: 200 }, (_, i) => `worker-${i}`);
    const line = names.values();
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        for (const name of line) {
          await scripts.upload(ACCOUNT, name, uploadOf(saying(name)), author);
          most = Math.max(most, workerProcesses());
        }
      }),
    );
    // A terminating process remains visible for a moment.
    assert.ok(most > 0 && most <= 8 + 4, `${most} concurrent processes`);
    for (const name of [names[0]!, names[117]!, names[199]!]) assert.equal((await ask(name)).body, name);
    assert.equal((await scripts.list(ACCOUNT)).total, 200);
    while (workerProcesses() > 0) await sleep(50);
    assert.equal((await ask(names[42]!)).body, names[42]);
    assert.equal(workerProcesses(), 1);
  },
);

/** Returns the number of child processes of this process that run workerd. */
function workerProcesses(): number {
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid))
    .filter((pid) => {
      try {
        const [, state, parent] = /^\d+ \(.*\) (\w) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))!;
        return (
          parent === String(process.pid) &&
          state !== "Z" &&
          readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("\0serve\0")
        );
      } catch {
        return false;
      }
    }).length;
}
