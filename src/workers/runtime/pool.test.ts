import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, describe, it } from "node:test";
import { createManualClock, type Clock } from "../../kernel/index.ts";
import type { Invocation, WorkerRuntime } from "../index.ts";
import { mailOf, noActions, scriptOf, startRuntime } from "./runtime.testing.ts";

const open: WorkerRuntime[] = [];
const start = (...args: Parameters<typeof startRuntime>) => {
  const runtime = startRuntime(...args);
  open.push(runtime);
  return runtime;
};
after(() => Promise.all(open.map((runtime) => runtime.close())));

const rejecting = (word: string, before = "") =>
  `export default { async email(message) { ${before}; message.setReject(${JSON.stringify(word)}) } }`;
/** Shows which process handled a message: module state lasts as long as its process. */
const counting = `let count = 0; export default { email(message) { message.setReject(String(++count)) } }`;

describe("the pool", () => {
  it("completes running work on the old version after a deploy, and runs later work on the new one", async () => {
    const runtime = start();
    await runtime.deploy(scriptOf(rejecting("old", "await scheduler.wait(300)"), { version: "1" }));
    const inFlight = runtime.email("test", mailOf(), noActions);
    await runtime.deploy(scriptOf(rejecting("new"), { version: "2" }));
    assert.equal((await runtime.email("test", mailOf(), noActions)).rejected, "new");
    assert.equal((await inFlight).rejected, "old");
  });

  it("loses no messages during repeated deploys under load", async () => {
    const runtime = start();
    await runtime.deploy(scriptOf(rejecting("0", "await scheduler.wait(2)")));
    const load = { on: true };
    const outcomes: string[] = [];
    const send = async () => {
      while (load.on) outcomes.push((await runtime.email("test", mailOf(), noActions)).outcome);
    };
    const senders = Array.from({ length: 8 }, send);
    for (let i = 1; i <= 6; i++)
      await runtime.deploy(scriptOf(rejecting(String(i), "await scheduler.wait(2)"), { version: String(i) }));
    load.on = false;
    await Promise.all(senders);
    assert.ok(outcomes.length > 20);
    assert.deepEqual([...new Set(outcomes)], ["ok"]);
  });

  const refused: [what: string, source: string, words: RegExp][] = [
    [
      "a syntax error",
      "export default { email( { throw }",
      /SyntaxError: Unexpected token 'throw'\n {2}at index\.js:1:\d+/,
    ],
    ["an exception at the top level", `throw new TypeError("at start"); export default {}`, /TypeError: at start/],
    ["a missing module", `import "nope"; export default {}`, /No such module "nope"/],
  ];
  for (const [what, source, words] of refused) {
    it(`rejects ${what} with workerd's error message and keeps the running version`, async () => {
      const runtime = start();
      await runtime.deploy(scriptOf(rejecting("still here")));
      await assert.rejects(runtime.deploy(scriptOf(source, { version: "2" })), { name: "UserError", message: words });
      assert.equal((await runtime.email("test", mailOf(), noActions)).rejected, "still here");
    });
  }

  it("starts a script once, on first use, and ends it when it has been idle", async () => {
    const runtime = start({ idleMs: 50 });
    await runtime.deploy(scriptOf(counting), { start: false });
    const first = await Promise.all([
      runtime.email("test", mailOf(), noActions),
      runtime.email("test", mailOf(), noActions),
    ]);
    assert.deepEqual(first.map(({ rejected }) => rejected).sort(), ["1", "2"]);
    for (let count = 2; count > 1;) count = Number((await rested(runtime)).rejected);
  });

  /** Leaves the worker idle long enough for its process to end, then sends it a message. */
  async function rested(runtime: WorkerRuntime) {
    await new Promise((resolve) => setTimeout(resolve, 120));
    return runtime.email("test", mailOf(), noActions);
  }

  it("ends the process that has been idle longest to stay within its process limit", async () => {
    const runtime = start({ maxProcesses: 2 });
    for (const name of ["a", "b", "c"]) await runtime.deploy(scriptOf(counting, { name }), { start: false });
    const ask = async (name: string) => (await runtime.email(name, mailOf(), noActions)).rejected;
    assert.deepEqual(
      [await ask("a"), await ask("b"), await ask("b"), await ask("c"), await ask("b"), await ask("a")],
      ["1", "1", "2", "1", "3", "1"],
    );
  });

  it("responds with a temporary failure if every process is busy", async () => {
    const runtime = start({ maxProcesses: 1, slotWaitMs: 50 });
    await runtime.deploy(scriptOf(rejecting("", "await message.forward('x@y')"), { name: "slow" }));
    await runtime.deploy(scriptOf(counting, { name: "waiting" }), { start: false });
    const running = Promise.withResolvers<void>();
    const ending = Promise.withResolvers<void>();
    const forward = async () => {
      running.resolve();
      await ending.promise;
      return { messageId: "" };
    };
    const slow = runtime.email("slow", mailOf(), { ...noActions, forward });
    await running.promise;
    assert.deepEqual(
      (await runtime.email("waiting", mailOf(), noActions)).exception?.message,
      "All 1 worker processes are busy.",
    );
    ending.resolve();
    await slow;
  });

  it("gives a message to only one process, even if that process crashes", async () => {
    const runtime = start({ limits: { cpuMs: 200 } });
    await runtime.deploy(
      scriptOf(
        `let count = 0; export default { email(message) { if (message.to === "loop@x") for (;;); message.setReject(String(++count)) } }`,
      ),
    );
    assert.equal((await runtime.email("test", mailOf(undefined, { to: "loop@x" }), noActions)).outcome, "exceededCpu");
    assert.equal((await runtime.email("test", mailOf(), noActions)).rejected, "1");
  });

  it("starts a worker whose CPU limit is below what workerd needs to start", async () => {
    const runtime = start({ limits: { cpuMs: 15 } });
    await runtime.deploy(scriptOf(rejecting("ok", "await 0")));
    assert.equal((await runtime.email("test", mailOf(), noActions)).rejected, "ok");
  });

  it("delays restarts of a worker that crashes repeatedly", async () => {
    const clock = createManualClock();
    const { promise: slept, resolve: tellSleep } = Promise.withResolvers<number>();
    const sleep: Clock["sleep"] = (ms, signal) => (tellSleep(ms), clock.sleep(ms, signal));
    const runtime = start({ clock: { ...clock, sleep }, limits: { cpuMs: 100 } });
    await runtime.deploy(scriptOf(`export default { email(message) { if (message.to === "loop@x") for (;;); } }`));
    for (let crash = 0; crash < 2; crash++)
      assert.equal(
        (await runtime.email("test", mailOf(undefined, { to: "loop@x" }), noActions)).outcome,
        "exceededCpu",
      );
    const third = runtime.email("test", mailOf(), noActions).then(({ outcome }) => outcome);
    assert.equal(await Promise.race([slept, third]), 400);
    clock.advance(400);
    assert.equal(await third, "ok");
  });

  it("reports a missing worker", async () => {
    const outcome = await start().email("absent", mailOf(), noActions);
    assert.deepEqual(outcome.exception?.message, "This Worker does not exist on your account.");
  });

  it("passes HTTP through: method, path, headers, streamed bodies, status, and client", async () => {
    const runtime = start();
    const seen: Invocation[] = [];
    const reported = new Promise<void>(
      (resolve) => void runtime.onInvocation((each) => void (seen.push(each), resolve())),
    );
    await runtime.deploy(
      scriptOf(`export default { async fetch(request) {
      console.log("asked");
      return new Response(request.method + " " + new URL(request.url).host + " " + await request.text() + " " + request.headers.get("cf-connecting-ip"), { status: 201, headers: [["set-cookie", "a=1"], ["set-cookie", "b=2"]] }) } }`),
    );
    const server = createServer((request, response) => void runtime.fetch("test", request, response));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const response = await fetch(`http://127.0.0.1:${port}/a?b`, {
      method: "POST",
      body: new Blob(["streamed"]).stream(),
      duplex: "half",
      headers: { "cf-connecting-ip": "1.2.3.4", authorization: "Bearer abc", "X-Api-Key": "abc", "x-word": "plain" },
    } as RequestInit);
    assert.equal(response.status, 201);
    assert.deepEqual(response.headers.getSetCookie(), ["a=1", "b=2"]);
    assert.equal(await response.text(), `POST 127.0.0.1:${port} streamed 127.0.0.1`);
    await reported;
    const { headers, allHeaders, ...event } = seen[0]!.event as Extract<Invocation["event"], { kind: "fetch" }>;
    assert.deepEqual(
      [event, seen[0]!.logs[0]!.message],
      [{ kind: "fetch", method: "POST", url: "/a?b", status: 201, cf: { httpProtocol: "HTTP/1.1" } }, ["asked"]],
    );
    const { host, authorization, "x-api-key": key, "x-word": word, "cf-connecting-ip": client } = headers!;
    assert.deepEqual(
      { host, authorization, key, word, client },
      { host: `127.0.0.1:${port}`, authorization: "REDACTED", key: "REDACTED", word: "plain", client: "127.0.0.1" },
    );
    // Only getUnredacted() of a tail worker returns this value.
    assert.equal(allHeaders!.authorization, "Bearer abc");
    server.close();
  });

  it("reports a failed or missing worker to browsers as a page, and to other clients as text", async () => {
    const runtime = start();
    const source = `export default { fetch({ url }) {
      if (url.endsWith("/loop")) for (;;);
      if (url.endsWith("/throw")) throw new Error("secret reason");
      return new Response(new TextEncoder().encode("x".repeat(21)), { status: 500 });
    } }`;
    await runtime.deploy(scriptOf(source, { limits: { cpuMs: 100 } }));
    const server = createServer((request, response) => {
      void runtime.fetch(request.url === "/absent" ? "absent" : "test", request, response);
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    for (const [path, message] of [
      ["/loop", "Worker exceeded CPU time limit of 100 ms."],
      ["/absent", "This Worker does not exist on your account."],
    ] as const) {
      const page = await fetch(`${origin}${path}`, { headers: { accept: "text/html" } });
      assert.deepEqual([page.status, page.headers.get("content-type")], [503, "text/html; charset=utf-8"]);
      const html = await page.text();
      assert.match(html, /<link rel="icon"[^]*<h1>Temporarily unavailable<\/h1>[^]*Reload the page in a minute\./);
      assert.ok(html.includes(message), html);
      const text = await fetch(`${origin}${path}`);
      assert.deepEqual(
        [text.status, text.headers.get("content-type"), await text.text()],
        [503, "text/plain; charset=utf-8", `${message}\n`],
      );
    }
    const thrown = await fetch(`${origin}/throw`, { headers: { accept: "text/html" } });
    const html = await thrown.text();
    assert.deepEqual([thrown.status, thrown.headers.get("content-type")], [500, "text/html; charset=utf-8"]);
    assert.match(html, /<h1>Internal error<\/h1>[^]*The worker threw an exception\./);
    assert.doesNotMatch(html, /secret reason/);
    assert.equal(await (await fetch(`${origin}/throw`)).text(), "Internal Server Error");
    // A response from the worker itself is not changed.
    const own = await fetch(`${origin}/own`, { headers: { accept: "text/html" } });
    assert.deepEqual([own.status, await own.text()], [500, "x".repeat(21)]);
    server.close();
  });

  it("passes WebSockets through", async () => {
    const runtime = start();
    await runtime.deploy(
      scriptOf(
        `export default { fetch() { const [client, server] = Object.values(new WebSocketPair()); server.accept(); server.addEventListener("message", (event) => server.send("echo " + event.data)); return new Response(null, { status: 101, webSocket: client }) } }`,
      ),
    );
    const server = createServer();
    server.on("upgrade", (request, socket, head) => runtime.upgrade("test", request, socket, head));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as { port: number }).port}/`);
    socket.addEventListener("open", () => socket.send("hello"));
    const answer = await new Promise((resolve) => socket.addEventListener("message", ({ data }) => resolve(data)));
    assert.equal(answer, "echo hello");
    socket.close();
    server.close();
  });
});
