import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { createTransport } from "nodemailer";
import type { TestServer } from "../../src/test-helper/api.ts";
import { createServer as createTestServer, TestServerError } from "../../src/test-helper/client.ts";
import { createScope, makeProject } from "../e2e/dev-bench.ts";
import { until } from "../support/mail-world.ts";

/** A busy machine needs more than the default limit. */
const createServer: typeof createTestServer = (options) => createTestServer({ startTimeout: 100_000, ...options });

const WORKER = `
export default {
  async email(message, env, ctx) {
    const subject = message.headers.get("subject") ?? "";
    console.log("received", { subject });
    await env.SEEN.put(message.from, subject);
    if (subject === "reject") return message.setReject("not today");
    if (subject === "throw") throw new TypeError("thrown on purpose");
    if (subject === "later") return ctx.waitUntil(env.OUT.send(report("sent later")));
    if (subject === "send") await env.OUT.send(report("all well"));
    if (subject === "reply") await message.reply({ from: message.to, subject: "Re: reply", text: "thanks" });
    else await message.forward("archive@example.net", new Headers({ "X-Seen": "yes" }));
  },
  async fetch(request, env) {
    const { hostname, pathname } = new URL(request.url);
    if (pathname === "/seen") return new Response((await env.SEEN.get("ada@example.com")) ?? "nothing");
    if (pathname === "/queue") { await env.JOBS.send("job", { delaySeconds: 3600 }); return new Response("queued"); }
    if (pathname === "/put") { await env.BUCKET.put("key", "value"); return new Response("stored"); }
    return new Response(hostname + pathname + " " + request.method + " " + env.GREETING + " " + (await request.text()));
  },
  async scheduled(controller) {
    if (controller.cron === "0 0 1 1 *") throw new Error("new year");
    console.log("ran", controller.cron);
  },
  async queue(batch) {
    for (const message of batch.messages) console.log("job", message.attempts);
    if (batch.messages[0].attempts === 1) batch.retryAll({ delaySeconds: 600 });
  },
};
const report = (text) => ({ from: "worker@example.org", to: "boss@example.com", subject: "Report", text });
`;

const CONFIG = {
  compatibility_flags: ["nodejs_compat"],
  vars: { GREETING: "hello" },
  triggers: { crons: ["0 * * * *", "30 12 * * *"] },
  kv_namespaces: [{ binding: "SEEN" }],
  r2_buckets: [{ binding: "BUCKET" }],
  send_email: [{ name: "OUT" }],
  queues: { producers: [{ binding: "JOBS", queue: "jobs" }], consumers: [{ queue: "jobs", max_batch_timeout: 0 }] },
};

const TO = { from: "ada@example.com", to: "inbox@example.org" };
const isHelperError = (message: RegExp, fix: RegExp) => (err: unknown) => {
  assert.ok(err instanceof TestServerError);
  assert.match(err.message, message);
  assert.match(err.message, /\nfix: /);
  assert.match(err.fix!, fix);
  return true;
};

describe("a server of reelpost/test", () => {
  const scope = createScope();
  let server: TestServer;
  let folder: string;
  before(async () => {
    folder = await makeProject(
      scope,
      {
        "src/index.ts": WORKER,
        "other/wrangler.jsonc": JSON.stringify({ name: "other", main: "index.js", compatibility_date: "2026-10-01" }),
        "other/index.js": `export default { fetch: (request) => new Response("other " + new URL(request.url).pathname) };`,
      },
      CONFIG,
    );
    server = await createServer({
      dir: folder,
      config: ["wrangler.jsonc", "other/wrangler.jsonc"],
      vars: { GREETING: "hi" },
    });
  });
  after(async () => {
    await server.close();
    await scope.close();
  });
  afterEach(async () => {
    await server.upstream.recover();
    await server.disk.free();
  });
  const email = (subject: string, text = "Hello") => server.worker().email({ ...TO, subject, text });

  it("returns the actions, the log lines and the result of a message", async () => {
    const result = await email("hello");
    assert.equal(result.outcome, "ok");
    assert.equal(result.rejectReason, undefined);
    const [forward] = result.forwards;
    assert.deepEqual([forward!.recipient, forward!.headers], ["archive@example.net", [["x-seen", "yes"]]]);
    assert.deepEqual(
      result.logs.map(({ level, message, worker }) => ({ level, message, worker })),
      [{ level: "log", message: "received { subject: 'hello' }", worker: "test" }],
    );
    assert.deepEqual([result.replies, result.sent, result.exception], [[], [], undefined]);
    assert.deepEqual(
      result.events.map(({ type }) => type),
      ["received", "forward"],
    );
  });

  it("returns replies and sent messages, including those from waitUntil()", async () => {
    const { replies } = await email("reply");
    assert.equal(replies[0]!.sender, "inbox@example.org");
    assert.match(replies[0]!.raw, /\r\nSubject: Re: reply\r\n/);
    for (const [subject, text] of [
      ["send", "all well"],
      ["later", "sent later"],
    ] as const) {
      const { sent } = await email(subject);
      assert.deepEqual([sent.length, sent[0]!.from, sent[0]!.to], [1, "worker@example.org", ["boss@example.com"]]);
      assert.ok(sent[0]!.raw.includes(text));
    }
  });

  it("returns a rejection or an exception as part of the result", async () => {
    assert.equal((await email("reject")).rejectReason, "not today");
    const { outcome, exception } = await email("throw");
    assert.deepEqual([outcome, exception?.name, exception?.message], ["exception", "TypeError", "thrown on purpose"]);
  });

  it("accepts a complete message as a string, bytes or a stream", async () => {
    const raw = "From: ada@example.com\nMessage-ID: <1@example.com>\nSubject: raw\n\nLine\n";
    const stored = async ({ id }: { id: string }) => (await server.inbox.waitFor({ cause: id, kind: "forwarded" })).raw;
    const results = [
      await server.worker().email({ ...TO, raw }),
      await server.worker().email({ ...TO, raw: Buffer.from(raw.replaceAll("\n", "\r\n")) }),
      await server.worker().email({ ...TO, raw: new Blob([raw.replaceAll("\n", "\r\n")]).stream() }),
    ];
    for (const result of results)
      assert.equal(await stored(result), `X-seen: yes\r\n${raw.replaceAll("\n", "\r\n")}`.replace("X-seen", "x-seen"));
  });

  it("waits for messages, and lists and deletes them", async () => {
    const waiting = server.inbox.waitFor({ to: "Archive@example.net", subject: "for the archive", kind: "forwarded" });
    const transport = createTransport({ ...server.smtp, secure: false, ignoreTLS: true });
    await transport.sendMail({
      ...TO,
      subject: "For the archive",
      text: "Hello",
      attachments: [{ filename: "a.bin", content: Buffer.from([1, 2, 3]) }],
    });
    transport.close();
    const message = await waiting;
    assert.deepEqual(
      [message.kind, message.to, message.subject, message.text?.trim()],
      ["forwarded", ["archive@example.net"], "For the archive", "Hello"],
    );
    assert.deepEqual(message.attachments[0]!.content, Uint8Array.of(1, 2, 3));
    assert.ok((await server.inbox.list({ subject: "archive" })).length >= 2);
    assert.ok((await server.inbox.clear()) > 2);
    assert.deepEqual(await server.inbox.list(), []);
  });

  it("waitFor() rejects if no message matches, and lists the messages in the inbox", async () => {
    await server.inbox.clear();
    await assert.rejects(
      server.inbox.waitFor({ subject: "never" }, { timeout: 50 }),
      isHelperError(/No message matched {"subject":"never"} within 50 ms\. The inbox is empty\./, /`timeout`/),
    );
    await email("hello");
    await assert.rejects(
      server.inbox.waitFor({ subject: "never" }, { timeout: 0 }),
      isHelperError(
        /The inbox has 2:\n {2}forwarded from ada@example\.com to archive@example\.net, subject "hello"/,
        /./,
      ),
    );
  });

  it("sends requests to every worker, using the host in an absolute URL", async () => {
    const text = async (response: Promise<Response>) => (await response).text();
    assert.equal(await text(server.fetch("/path?a=1", { method: "POST", body: "x" })), "127.0.0.1/path POST hi x");
    assert.equal(await text(server.fetch("https://app.example.com/a")), "app.example.com/a GET hi ");
    assert.equal(await text(server.worker("other").fetch("/b")), "other /b");
    assert.throws(() => server.worker("third"), isHelperError(/no worker "third"/, /test, other/));
  });

  it("runs a scheduled handler", async () => {
    assert.deepEqual(await server.worker().scheduled({ cron: "0 * * * *" }), { outcome: "ok" });
    const { outcome, exception } = await server.worker().scheduled({ cron: "0 0 1 1 *" });
    assert.deepEqual([outcome, exception?.message], ["exception", "new year"]);
  });

  it("runs cron triggers that become due when the clock is advanced, in order", async () => {
    const start = server.clock.now();
    const { runs } = await server.clock.advance({ days: 1 });
    assert.equal(runs.length, 25);
    assert.ok(runs.every(({ outcome }) => outcome === "ok"));
    const times = runs.map(({ scheduledTime }) => scheduledTime.getTime());
    assert.deepEqual(times, times.toSorted());
    assert.ok(times[0]! > start && times.at(-1)! <= server.clock.now());
    assert.equal(runs.filter(({ cron }) => cron === "30 12 * * *").length, 1);
    await assert.rejects(server.clock.advance(-1), isHelperError(/cannot be advanced by -1 ms/, /hours: 1/));
    await assert.rejects(server.clock.advance({ days: 100 }), isHelperError(/more than 1000 cron triggers/, /smaller/));
  });

  it("delivers delayed queue messages and retries when the clock is advanced", async () => {
    const jobs = () => server.getLogs().flatMap(({ message }) => (message.startsWith("job") ? [message] : []));
    await server.fetch("/queue");
    await server.clock.advance({ minutes: 59 });
    assert.deepEqual(jobs(), []);
    await server.clock.advance({ minutes: 1, seconds: 1 });
    await server.waitForEvent({ event: "queue", queue: "jobs" });
    const after = server.events.length;
    await server.clock.advance({ minutes: 10 });
    await server.waitForEvent({ event: "queue", queue: "jobs", batchSize: 1 }, { after });
    assert.deepEqual(jobs(), ["job 1", "job 2"]);
  });

  it("simulates a next hop that fails, is slow or disconnects", async () => {
    await server.upstream.fail("451 4.7.1 Try again later", { to: "*@example.net", times: 1 });
    const { outcome, exception, forwards } = await email("hello");
    assert.deepEqual([outcome, forwards], ["exception", []]);
    assert.match(exception!.message, /transient error \(451\): 4\.7\.1 Try again later/);
    assert.equal((await email("hello")).outcome, "ok");
    await server.upstream.slow(80);
    const before = performance.now();
    await email("hello");
    assert.ok(performance.now() - before >= 80);
    await server.upstream.recover();
    await server.upstream.drop();
    assert.match((await email("hello")).exception!.message, /4\.4\.2/);
    await server.upstream.recover();
    await server.upstream.hang({ milliseconds: 20 });
    assert.match((await email("hello")).exception!.message, /took longer than 20 ms/);
    await assert.rejects(
      server.upstream.fail("250 ok"),
      isHelperError(/"250 ok" is not a failure reply/, /400 to 599/),
    );
    await assert.rejects(server.upstream.drop({ times: 0 }), isHelperError(/0 is not a valid number/, /positive/));
  });

  it("simulates a full disk", async () => {
    await server.disk.fill();
    assert.equal((await server.fetch("/put")).status, 500);
    assert.match((await email("hello")).exception!.message, /\(452\)/);
    await server.disk.free();
    assert.equal(await (await server.fetch("/put")).text(), "stored");
  });

  it("keeps its URL after reset(), with empty storage", async () => {
    await email("hello");
    assert.equal(await (await server.fetch("/seen")).text(), "hello");
    await server.upstream.drop();
    const { url, dataDir } = server;
    const before = performance.now();
    await server.reset();
    process.stderr.write(`reset(): ${Math.round(performance.now() - before)} ms\n`);
    assert.equal(server.url, url);
    assert.equal(existsSync(dataDir), false);
    assert.equal(await (await server.fetch("/seen")).text(), "nothing");
    assert.deepEqual(await server.inbox.list(), []);
    assert.deepEqual(server.getLogs(), []);
    assert.equal((await email("hello")).outcome, "ok");
  });

  it("isolates the storage of two servers, and close() frees the ports and deletes the folder", async () => {
    await email("hello");
    const started = performance.now();
    const second = await createServer({ dir: folder });
    process.stderr.write(`createServer() in a warm process: ${Math.round(performance.now() - started)} ms\n`);
    assert.equal(await (await second.fetch("/seen")).text(), "nothing");
    await second.close();
    await second.close();
    assert.equal(existsSync(second.dataDir), false);
    for (const port of [Number(new URL(second.url).port), second.smtp.port])
      await assert.rejects(
        new Promise((resolve, reject) => connect(port, "127.0.0.1").once("connect", resolve).once("error", reject)),
        { code: "ECONNREFUSED" },
      );
    await assert.rejects(second.inbox.list(), isHelperError(/closed/, /createServer/));
    assert.equal(await (await server.fetch("/seen")).text(), "hello");
  });

  it("waitForEvent() rejects if the event does not occur, and lists the reported events", async () => {
    await assert.rejects(
      server.waitForEvent({ event: "queue", queue: "none" }, { timeout: 10 }),
      isHelperError(/No event matched {"event":"queue","queue":"none"} within 10 ms; .* × email/, /`timeout`/),
    );
  });

  it("provides the v4 API of the server", async () => {
    const { url, token, account } = server.api;
    const response = await fetch(`${url}/accounts/${account}/storage/kv/namespaces`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(response.status, 200);
  });
});

describe("createServer()", () => {
  const scope = createScope();
  after(scope.close);

  it("runs the SQL files in `seeds`, and reports a pattern without a match", async () => {
    const dir = await makeProject(
      scope,
      {
        "src/index.ts": `export default { fetch: async (_, env) => new Response(await env.DB.prepare("SELECT name FROM users").first("name")) };`,
        "migrations/0001_users.sql": "CREATE TABLE users (name TEXT);",
        "migrations/0002_ada.sql": "INSERT INTO users VALUES ('ada');",
      },
      { d1_databases: [{ binding: "DB" }] },
    );
    const server = await createServer({ dir, seeds: ["DB=migrations/*.sql"] });
    assert.equal(await (await server.fetch("/")).text(), "ada");
    await server.close();
    await assert.rejects(
      createServer({ dir, seeds: ["nothing/*.sql"] }),
      isHelperError(/No file matches the seed nothing\/\*\.sql/, /`seeds`/),
    );
  });

  it("rejects a worker that does not build, with the build error", async () => {
    const dir = await makeProject(scope, { "src/index.ts": "export default { fetch( };" });
    await assert.rejects(createServer({ dir }), isHelperError(/worker test failed to build: [^]*index\.ts/, /Correct/));
  });

  it("rejects if the server takes too long to start, and stops it", async () => {
    const dir = await makeProject(scope, { "src/index.ts": "export default {};" });
    await assert.rejects(
      createServer({ dir, startTimeout: 1, dataDir: join(dir, "data") }),
      isHelperError(/did not start within 1 ms/, /`startTimeout`/),
    );
    const server = await createServer({ dir, dataDir: join(dir, "other") });
    await assert.rejects(server.reset(), isHelperError(/reset\(\) does not delete the storage/, /`dataDir`/));
    await server.close();
    assert.ok(existsSync(server.dataDir));
    // The first server is stopped once it has started, and then releases the lock of its data directory.
    const startAgain = () => createServer({ dir, dataDir: join(dir, "data") }).catch(() => undefined);
    await (await until(startAgain, "the end of the first server")).close();
  });

  it("stops its servers and deletes their storage when the test process ends without close()", async () => {
    const dir = await makeProject(scope, { "src/index.ts": "export default {};" });
    const client = new URL("../../src/test-helper/client.ts", import.meta.url).href;
    const script = `
      const { createServer } = await import(${JSON.stringify(client)});
      const { url, dataDir } = await createServer({ startTimeout: 100_000 });
      console.log(JSON.stringify({ url, dataDir }));`;
    const { stdout, status } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      cwd: dir,
      encoding: "utf8",
      timeout: 100_000,
    });
    assert.equal(status, 0);
    const { url, dataDir } = JSON.parse(stdout) as { url: string; dataDir: string };
    for (const deadline = performance.now() + 60_000; existsSync(dataDir);) {
      assert.ok(performance.now() < deadline, "the folder still exists");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await assert.rejects(fetch(url));
  });

  it("starts a server after the process of the previous ones has ended while this process was blocked", async () => {
    const dir = await makeProject(scope, { "src/index.ts": "export default { fetch: () => new Response('ok') };" });
    await (await createServer({ dir })).close();
    // Longer than the process waits for another server.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6000);
    const servers = await Promise.all([createServer({ dir }), createServer({ dir })]);
    for (const server of servers) {
      assert.equal(await (await server.fetch("/")).text(), "ok");
      await server.close();
    }
  });

  it("rejects a folder without a configuration", async () => {
    await assert.rejects(createServer({ dir: "/" }), isHelperError(/./, /./));
  });
});
