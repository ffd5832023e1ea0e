import assert from "node:assert/strict";
import { Agent, createServer, request, type IncomingMessage } from "node:http";
import { once } from "node:events";
import { test } from "node:test";
import { closeGracefully, listen } from "./http-server.ts";

test("closing responds to pending requests with Connection: close, and accepts no new ones", async (t) => {
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
  const closed = closeGracefully(server, 60_000, 300);
  await assert.rejects(ask(false), { code: "ECONNREFUSED" });
  assert.equal(await ask(), "close", "the existing connection still accepts this request");
  await closed;
});

test("closing drops idle connections after the idle time, and busy ones after the grace period", async () => {
  const server = createServer(() => {});
  const { port } = await listen(server, { host: "127.0.0.1", port: 0 });
  const busy = request({ port, host: "127.0.0.1", agent: false }).end();
  await once(server, "request");
  const cut = once(busy, "error");
  await closeGracefully(server, 50, 10);
  await cut;
});
