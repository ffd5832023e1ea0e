import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import type { Invocation, InvocationOutcome, WorkerRuntime } from "../index.ts";
import { SCHEME_HEADER, SERVICE_HEADER } from "./capnp.ts";
import { EVENT_HEADER, META_HEADER, OBJECT_HEADER } from "./inside/shared.ts";
import { scriptOf, startRuntime } from "./runtime.testing.ts";

describe("HTTP passthrough to a worker", () => {
  let runtime: WorkerRuntime;
  let outcome: Promise<InvocationOutcome>;
  const server = createServer((request, response) => void (outcome = runtime.fetch("test", request, response)));
  let port: number;
  before(async () => {
    runtime = startRuntime();
    server.on("upgrade", (request, socket, head) => runtime.upgrade("test", request, socket, head));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    port = (server.address() as { port: number }).port;
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await runtime.close();
  });
  const handler = (body: string) => runtime.deploy(scriptOf(`export default { async fetch(request) { ${body} } }`));

  for (const size of [1000, 100_000, 1_000_000, 20_000_000]) {
    it(`the response to a body of ${size} bytes that the worker does not read arrives, and so does the next response`, async () => {
      await handler(
        `return request.url.endsWith("/read") ? new Response(String((await request.bytes()).length)) : new Response("too much", { status: 413 })`,
      );
      const early = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: Buffer.alloc(size) });
      assert.deepEqual([early.status, await early.text()], [413, "too much"]);
      const whole = await fetch(`http://127.0.0.1:${port}/read`, {
        method: "POST",
        body: new Blob([Buffer.alloc(size)]).stream(),
        duplex: "half",
      } as RequestInit);
      assert.equal(await whole.text(), String(size));
    });
  }

  for (const size of [1000, 1_000_000, 20_000_000]) {
    it(`a success response arrives even if a body of ${size} bytes is never read, and so does the next one`, async () => {
      await handler(`return new Response("thanks")`);
      for (let i = 0; i < 3; i++)
        assert.equal(
          await (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: Buffer.alloc(size) })).text(),
          "thanks",
        );
    });
  }

  it("a body reaches the worker while it is still being sent", async () => {
    await handler("return new Response(request.body)");
    const request = httpRequest({ port, method: "POST" });
    request.write("first");
    const [response] = (await once(request, "response")) as [IncomingMessage];
    assert.equal(String((await once(response, "data"))[0]), "first");
    request.write("second");
    assert.equal(String((await once(response, "data"))[0]), "second");
    request.end();
    await once(response, "end");
    const large = Buffer.alloc(20_000_000, "x");
    assert.equal(
      (await (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: large })).bytes()).length,
      large.length,
    );
  });

  it("a response may have 100 KB of headers", async () => {
    await handler(`return new Response("", { headers: { "x-long": "y".repeat(100_000) } })`);
    const length = await new Promise((resolve, reject) =>
      httpRequest({ port, maxHeaderSize: 200_000 }, (response) => resolve(response.resume().headers["x-long"]?.length))
        .on("error", reject)
        .end(),
    );
    assert.equal(length, 100_000);
  });

  it("a client that disconnects during a response is not a failure of the worker", async () => {
    await handler(
      `return new Response(new ReadableStream({ async pull(controller) { await scheduler.wait(1); controller.enqueue(new Uint8Array(1000)) } }))`,
    );
    const leaving = new AbortController();
    const { body } = await fetch(`http://127.0.0.1:${port}/`, { signal: leaving.signal });
    await body!.getReader().read();
    leaving.abort();
    assert.deepEqual(await outcome, { outcome: "canceled" });
  });

  it("an upgrade that the worker declines does not let a client bypass the server", async () => {
    const source = `addEventListener("fetch", (event) => event.respondWith(new Response("declined"))); addEventListener("email", ({ message }) => message.setReject("forged"))`;
    await runtime.deploy(scriptOf(source, { format: "service-worker" }));
    const socket = connect(port, "127.0.0.1");
    const meta = JSON.stringify({ token: "t", from: "a@x", to: "b@x", rawSize: 0, headers: [], canBeForwarded: true });
    socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    socket.once("data", () =>
      socket.write(`POST / HTTP/1.1\r\nHost: a\r\nx-reelpost-meta: ${meta}\r\ncontent-length: 0\r\n\r\n`),
    );
    const answer = await text(socket);
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n(.*\r\n)*\r\ndeclined$/);
  });

  it("a client cannot set internal headers, whether in a request or in an upgrade", async (t) => {
    let recorded = Promise.withResolvers<Invocation>();
    const observed = startRuntime();
    observed.onInvocation((invocation) => recorded.resolve(invocation));
    const other = createServer((request, response) => void observed.fetch("test", request, response));
    other.on("upgrade", (request, socket, head) => observed.upgrade("test", request, socket, head));
    await new Promise<void>((resolve) => void other.listen(0, "127.0.0.1", resolve));
    t.after(async () => {
      other.closeAllConnections();
      other.close();
      await observed.close();
    });
    await observed.deploy(
      scriptOf(
        `export default { fetch(request) { console.log("here"); return new Response([...request.headers.keys()].filter((name) => name.startsWith("x-")).join()) } }`,
      ),
    );
    const { port: otherPort } = other.address() as { port: number };
    const internal = [EVENT_HEADER, META_HEADER, OBJECT_HEADER, SCHEME_HEADER, SERVICE_HEADER, "X-Reelpost-Anything"];
    const forged = internal.map((name) => `${name}: handlers\r\n`).join("");
    for (const connection of ["", "Connection: Upgrade\r\nUpgrade: websocket\r\n"]) {
      recorded = Promise.withResolvers();
      const socket = connect(otherPort, "127.0.0.1");
      socket.write(`GET / HTTP/1.1\r\nHost: a\r\n${forged}x-mine: 1\r\n${connection || "Connection: close\r\n"}\r\n`);
      const answer = await text(socket);
      assert.match(answer, /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n(?:[0-9a-f]+\r\n)?x-mine,x-real-ip/);
      assert.doesNotMatch(answer, /x-reelpost/i);
      const { event, logs } = await recorded.promise;
      assert.deepEqual(
        logs.map(({ message }) => message),
        [["here"]],
      );
      assert.ok(event.kind === "fetch");
      assert.deepEqual(
        Object.keys(event.allHeaders ?? {}).filter((name) => name.startsWith("x-")),
        ["x-mine"],
      );
    }
  });

  it("an HTTP/1.0 request without a Host reaches the worker", async () => {
    await handler(`return new Response("seen " + request.url)`);
    const socket = connect(port, "127.0.0.1");
    socket.write("GET /old HTTP/1.0\r\n\r\n");
    assert.match(await text(socket), /^HTTP\/1\.1 200 OK\r\n(.*\r\n)*\r\nseen http:\/\/localhost\/old$/);
  });

  it("a WebSocket message that is answered proves that the worker is not in a loop", async (t) => {
    const strict = startRuntime({ limits: { cpuMs: 500 } });
    const other = createServer().on("upgrade", (request, socket, head) =>
      strict.upgrade("test", request, socket, head),
    );
    await new Promise<void>((resolve) => void other.listen(0, "127.0.0.1", resolve));
    t.after(async () => {
      other.close();
      await strict.close();
    });
    await strict.deploy(
      scriptOf(
        `export default { fetch() { const [client, server] = Object.values(new WebSocketPair()); server.accept(); server.addEventListener("message", () => { let sum = 0; for (let i = 0; i < 1e6; i++) sum += Math.sqrt(i); server.send("done") }); return new Response(null, { status: 101, webSocket: client }) } }`,
      ),
    );
    const socket = new WebSocket(`ws://127.0.0.1:${(other.address() as { port: number }).port}/`);
    const answers = await new Promise<number>((resolve) => {
      let count = 0;
      socket.addEventListener("open", () => socket.send("go"));
      socket.addEventListener("message", () => void (++count < 500 ? socket.send("go") : resolve(count)));
      socket.addEventListener("close", () => resolve(count));
    });
    assert.equal(answers, 500);
    socket.close();
  });

  it("a client that resets a connection during its upgrade has no effect on others", async () => {
    await runtime.deploy(scriptOf("export default {}", { name: "slow-to-start" }), { start: false });
    const other = createServer();
    await new Promise<void>((resolve) => void other.listen(0, "127.0.0.1", resolve));
    const client = connect((other.address() as { port: number }).port, "127.0.0.1");
    client.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    await new Promise<void>((closed) => {
      other.once("upgrade", (request, socket, head) => {
        runtime.upgrade("slow-to-start", request, socket, head);
        socket.once("close", closed);
        client.resetAndDestroy();
      });
    });
    other.close();
  });
});
