import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { test, type TestContext } from "node:test";
import { cutIdleBody } from "./body-patience.ts";

const IDLE_MS = 600;

async function serve(t: TestContext, work: (request: IncomingMessage) => Promise<string>) {
  const server = createServer((request, response) => {
    cutIdleBody(request, IDLE_MS);
    work(request).then(
      (text) => response.end(text),
      () => response.destroy(),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const send = (headers = {}) =>
    httpRequest({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", method: "PUT", headers });
  return send;
}

const whole = async (request: IncomingMessage) => String(Buffer.concat(await request.toArray()).length);
const answerOf = async (request: ReturnType<typeof httpRequest>) => {
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return Buffer.concat(await response.toArray()).toString();
};

test("closes the connection of a stalled body, but not of a slow one", { timeout: 60_000 }, async (t) => {
  const send = await serve(t, whole);
  for (const headers of [{ "content-length": "10000" }, { "transfer-encoding": "chunked" }]) {
    const stalled = send(headers);
    stalled.write("x".repeat(5000));
    await assert.rejects(once(stalled, "response"), { code: "ECONNRESET" });
  }
  const slow = send({ "content-length": String(60 * 2048) });
  const answered = answerOf(slow);
  for (let i = 0; i < 60; i++) {
    slow.write("x".repeat(2048));
    // Each pause is much shorter than the timeout; their sum is much longer.
    await sleep(20);
  }
  slow.end();
  assert.equal(await answered, String(60 * 2048));
});

test("does not count time during which the server does not read", { timeout: 60_000 }, async (t) => {
  const send = await serve(t, async (request) => {
    await sleep(2 * IDLE_MS);
    const length = await whole(request);
    await sleep(2 * IDLE_MS);
    return length;
  });
  const request = send({ "content-length": "9" });
  request.end("123456789");
  assert.equal(await answerOf(request), "9");
});
