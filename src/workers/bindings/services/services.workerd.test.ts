import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { silentLog } from "../../../kernel/index.ts";
import type { Invocation, WorkerRuntime } from "../../runtime/port.ts";
import { noServices, scriptOf, startRuntime } from "../../runtime/runtime.testing.ts";
import type { Binding } from "../../scripts/script.ts";
import { createLocalWorkerCalls } from "./runtime-calls.ts";
import { createServiceBindingService } from "./service.ts";

const TARGET = (edition: string) => `
import { WorkerEntrypoint, RpcTarget } from "cloudflare:workers";
class Counter extends RpcTarget {
  #count = 0;
  increment() { return ++this.#count; }
}
export default class extends WorkerEntrypoint {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/throw") throw new TypeError("thrown");
    if (request.headers.get("upgrade") === "websocket") {
      const [client, server] = Object.values(new WebSocketPair());
      server.accept();
      server.addEventListener("message", ({ data }) => server.send("echo " + data));
      return new Response(null, { status: 101, webSocket: client });
    }
    return Response.json({ edition: "${edition}", method: request.method, url: request.url, body: await request.text(), header: request.headers.get("x-mine"), client: request.headers.get("cf-connecting-ip"), service: request.headers.get("x-reelpost-service"), props: this.ctx.props }, { headers: { "set-cookie": "a=b; Domain=example.org" } });
  }
  edition() { return "${edition}"; }
  add(a, b) { console.log("adding"); return a + b; }
  counter() { return new Counter(); }
  fail() { throw new RangeError("failed"); }
  stream() { return new Response("streamed").body; }
  call(callback) { return callback(20); }
  async wait(onStarted) {
    await onStarted();
    await new Promise((resolve) => setTimeout(resolve, 2500));
    return "${edition}";
  }
}
export class Admin extends WorkerEntrypoint {
  fetch(request) { return Response.json({ admin: request.url, props: this.ctx.props }); }
  whoami() { return this.ctx.props; }
}
export const plain = { fetch: () => new Response("plain") };
`;

const STEPS: Record<string, string> = {
  request: `const response = await env.API.fetch("https://any.host/a?b=1", { method: "PUT", body: "é", headers: { "x-mine": "1", "x-reelpost-service": "service:OTHER", "cf-connecting-ip": "192.0.2.1" } }); return { ...(await response.json()), cookie: response.headers.get("set-cookie") };`,
  plainHttp: `return (await (await env.API.fetch("http://any.host/")).json()).url;`,
  thrown: `return (await env.API.fetch("https://x/throw")).status;`,
  socket: `const { webSocket } = await env.API.fetch("https://x/", { headers: { upgrade: "websocket" } }); webSocket.accept(); const heard = new Promise((resolve) => webSocket.addEventListener("message", ({ data }) => resolve(data))); webSocket.send("hi"); const data = await heard; webSocket.close(); return data;`,
  rpc: `return [await env.API.add(2, 3), await env.API.add("é", "x")];`,
  stub: `using counter = await env.API.counter(); await counter.increment(); return await counter.increment();`,
  pipelined: `return await env.API.counter().increment();`,
  failure: `try { await env.API.fail(); } catch (err) { return err.name + ": " + err.message; }`,
  stubFailure: `using counter = await env.API.counter(); const err = await counter.missing().catch((err) => err); return [err.name, await counter.increment()];`,
  stream: `return await new Response(await env.API.stream()).text();`,
  callback: `return await env.API.call((x) => x * 2);`,
  named: `return [await (await env.ADMIN.fetch("https://x/y")).json(), await env.ADMIN.whoami()];`,
  object: `return await (await env.PLAIN.fetch("https://x/")).text();`,
  noEntrypoint: `const response = await env.NO_ENTRYPOINT.fetch("https://x/"); const rpc = await env.NO_ENTRYPOINT.x().catch((err) => err.message); return [response.status, await response.text(), rpc];`,
  noWorker: `const response = await env.NO_WORKER.fetch("https://x/"); const rpc = await env.NO_WORKER.x().catch((err) => err.message); return [response.status, await response.text(), rpc];`,
  ownEntrypoint: `return (await env.OWN_ENTRYPOINT.fetch("https://x/")).status;`,
  tcp: `return await env.API.connect("rpc415049:1").opened.then(() => "opened", (err) => "refused");`,
  edition: `return [await env.API.edition(), (await (await env.API.fetch("https://x/")).json()).edition];`,
  // The bodies stay open until one call has been rejected, so that all others run at the same time.
  many: `
    const writers = [];
    const calls = Array.from({ length: 10 }, async () => {
      const { readable, writable } = new TransformStream();
      writers.push(writable.getWriter());
      return (await env.API.fetch("https://x/", { method: "POST", body: readable })).status;
    });
    const rejection = calls.map((call) => call.then((status) => { if (status !== 503) throw new Error(status); }));
    await Promise.any(rejection);
    for (const writer of writers) writer.close().catch(() => {});
    return (await Promise.all(calls)).sort();`,
};
const CALLER = `
const steps = { ${Object.entries(STEPS)
  .map(([name, code]) => `async ${name}(env) { ${code} }`)
  .join(",\n")} };
export default {
  async fetch(request, env, ctx) {
    if (request.url.endsWith("/wait")) {
      const { readable, writable } = new IdentityTransformStream();
      const writer = writable.getWriter();
      const write = (text) => writer.write(new TextEncoder().encode(text));
      ctx.waitUntil(env.API.wait(() => write("started")).then(write, write).finally(() => writer.close()));
      return new Response(readable);
    }
    try {
      return Response.json({ value: await steps[await request.text()](env) });
    } catch (err) {
      return Response.json({ error: String(err) });
    }
  },
};`;

const BINDINGS: Binding[] = [
  { type: "service", name: "API", service: "target" },
  { type: "service", name: "ADMIN", service: "target", entrypoint: "Admin", props: { role: 'the "owner"' } },
  { type: "service", name: "PLAIN", service: "target", entrypoint: "plain" },
  { type: "service", name: "NO_ENTRYPOINT", service: "target", entrypoint: "Nope" },
  { type: "service", name: "NO_WORKER", service: "nobody" },
  { type: "service", name: "OWN_ENTRYPOINT", service: "target", entrypoint: "ReelpostMail" },
];

describe("service bindings between processes", () => {
  let runtime: WorkerRuntime;
  let url = "";
  const invocations: Invocation[] = [];
  const server = createServer((request, response) => void runtime.fetch("caller", request, response));

  before(async () => {
    const service = createServiceBindingService({
      calls: createLocalWorkerCalls({
        runtime: { entrypoint: (...call) => runtime.entrypoint(...call) },
        log: silentLog,
      }),
      maxCalls: 8,
    });
    runtime = startRuntime({ services: { ...noServices, service } });
    runtime.onInvocation((invocation) => void invocations.push(invocation));
    await deploy("one");
    await runtime.deploy(scriptOf(CALLER, { name: "caller", bindings: BINDINGS }));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await runtime.close();
  });

  const deploy = (edition: string) => runtime.deploy(scriptOf(TARGET(edition), { name: "target", version: edition }));
  async function run(step: string): Promise<unknown> {
    const { value, error } = (await (await fetch(url, { method: "POST", body: step })).json()) as {
      value?: unknown;
      error?: string;
    };
    assert.equal(error, undefined, step);
    return value;
  }

  test("a request arrives with its URL, method, headers and body, and its response is unchanged", async () => {
    assert.deepEqual(await run("request"), {
      edition: "one",
      method: "PUT",
      url: "https://any.host/a?b=1",
      body: "é",
      header: "1",
      client: "192.0.2.1",
      service: null,
      props: {},
      cookie: "a=b; Domain=example.org",
    });
    assert.equal(await run("plainHttp"), "http://any.host/");
  });

  test("an exception in the fetch handler becomes a 500 response", async () => {
    assert.equal(await run("thrown"), 500);
  });

  test("passes WebSockets through", async () => {
    assert.equal(await run("socket"), "echo hi");
  });

  test("RPC supports values, stubs, pipelining, errors, streams and callbacks", async () => {
    assert.deepEqual(await run("rpc"), [5, "éx"]);
    assert.equal(await run("stub"), 2);
    assert.equal(await run("pipelined"), 1);
    assert.equal(await run("failure"), "RangeError: failed");
    assert.deepEqual(await run("stubFailure"), ["TypeError", 1]);
    assert.equal(await run("stream"), "streamed");
    assert.equal(await run("callback"), 40);
  });

  test("an RPC call is an invocation of the called worker, with its logs", async () => {
    invocations.length = 0;
    await run("rpc");
    const added = () => invocations.filter(({ script, logs }) => script === "target" && logs.length > 0);
    await until(() => added().length === 2);
    assert.deepEqual(added()[0]!.logs[0]!.message, ["adding"]);
  });

  test("an RPC method that throws is reported as an exception of the called worker, not as a hang", async () => {
    invocations.length = 0;
    await run("failure");
    const failed = () =>
      invocations.filter(
        ({ script, event }) => script === "target" && event.kind === "other" && event.rpcMethod === "fail",
      );
    await until(() => failed().length > 0);
    assert.deepEqual(
      failed().map(({ outcome, exception, exceptions }) => [outcome, exception, exceptions]),
      [["exception", undefined, []]],
    );
  });

  test("calls named entrypoints with props", async () => {
    const props = { role: 'the "owner"' };
    assert.deepEqual(await run("named"), [{ admin: "https://x/y", props }, props]);
    assert.equal(await run("object"), "plain");
  });

  test("a missing entrypoint or worker causes a clear error", async () => {
    const entrypoint = "The Worker target does not export an entrypoint named Nope.";
    assert.deepEqual(await run("noEntrypoint"), [503, `${entrypoint}\n`, entrypoint]);
    const worker = "The Worker nobody of the service binding does not exist or is not running.";
    assert.deepEqual(await run("noWorker"), [503, `${worker}\n`, worker]);
    assert.equal(await run("ownEntrypoint"), 503);
    assert.deepEqual(await run("rpc"), [5, "éx"]);
  });

  test("a worker's code cannot open RPC connections itself", async () => {
    assert.equal(await run("tcp"), "refused");
  });

  test("limits the concurrent calls of a worker", async () => {
    const statuses = (await run("many")) as number[];
    // Calls from earlier tests may still be closing.
    const accepted = statuses.filter((status) => status === 200).length;
    assert.ok(accepted >= 1 && accepted <= 8, String(statuses));
    assert.ok(statuses.every((status) => status === 200 || status === 503));
  });

  test("after a deploy, requests reach the new version and running RPC calls complete", async () => {
    const waiting = (await fetch(`${url}/wait`)).body!.pipeThrough(new TextDecoderStream()).getReader();
    assert.equal((await waiting.read()).value, "started");
    await deploy("two");
    assert.equal((await waiting.read()).value, "one");
    assert.equal(((await run("request")) as { edition: string }).edition, "two");
    await until(async () => ((await run("edition")) as string[]).join() === "two,two");
  });
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, "the condition never held");
    await new Promise((resolve) => void setTimeout(resolve, 20));
  }
}
