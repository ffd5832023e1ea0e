import assert from "node:assert/strict";
import { Agent, createServer, request, type IncomingMessage } from "node:http";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { closeGracefully, listen, trackUnused } from "./http-server.ts";

test("close() responds to pending requests with Connection: close, and accepts no new ones", async (t) => {
  const server = createServer((_, response) => void response.end("answer"));
  const { port } = await listen(server, { host: "127.0.0.1", port: 0 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ask = async (by: Agent | false = agent) => {
    const [response] = (await once(request({ port, host: "127.0.0.1", agent: by }).end(), "response")) as [
      IncomingMessage,
    ];
    await once(response.resume(), "end");
    return response.headers.connection;
  };
  assert.equal(await ask(), "keep-alive");
  const closed = closeGracefully(server, { graceMs: 60_000, idleMs: 10_000 });
  await assert.rejects(ask(false), { code: "ECONNREFUSED" });
  assert.equal(await ask(), "close", "the existing connection still accepts this request");
  await closed;
});

test("close() drops idle connections after the idle time, and busy ones after the grace period", async () => {
  const server = createServer(() => {});
  const { port } = await listen(server, { host: "127.0.0.1", port: 0 });
  const busy = request({ port, host: "127.0.0.1", agent: false }).end();
  await once(server, "request");
  const cut = once(busy, "error");
  await closeGracefully(server, { graceMs: 50, idleMs: 10 });
  await cut;
});

test("close() serves the first request of a connection accepted earlier, even if it arrives late", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const pass = (ms: number) => {
    now += ms;
    t.mock.timers.tick(ms);
  };
  const server = createServer((_, response) => void response.end("answer"));
  const unused = trackUnused(server);
  const { port } = await listen(server, { host: "127.0.0.1", port: 0 });
  const [early, idle] = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")];
  t.after(() => early.destroy());
  while (unused.size < 2) await once(server, "connection");
  const closed = closeGracefully(server, { graceMs: 60_000, idleMs: 500, unused, unusedMs: 5000 });
  pass(4900);
  early.end("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const answer = (await early.toArray()).join("");
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n(.*\r\n)*Connection: close\r\n/);
  assert.equal(unused.size, 1);
  pass(200);
  await Promise.all([once(idle.resume(), "end"), closed]);
});
