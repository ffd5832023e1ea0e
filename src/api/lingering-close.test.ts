import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { type LingerOptions, lingerBeforeClose } from "./lingering-close.ts";

/** Rejects requests before reading their bodies. */
async function serve(t: TestContext, options?: LingerOptions) {
  const sockets = new Set<IncomingMessage["socket"]>();
  const server = createServer((incoming, response) => {
    sockets.add(incoming.socket);
    lingerBeforeClose(incoming, options);
    response.writeHead(413).end("too large");
  }).listen(0, "127.0.0.1");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, sockets };
}

/** Sends `pieces` chunks of 1 MiB. The server closes the connection after its response. */
function send(url: string, pieces: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const requested = request(
      url,
      { method: "POST", agent: false, headers: { connection: "close", "content-length": String(pieces << 20) } },
      (response) => {
        response
          .resume()
          .once("end", () => resolve(response.statusCode!))
          .once("error", reject);
      },
    );
    requested.once("error", reject);
    void (async () => {
      for (let i = 0; i < pieces && !requested.destroyed; i++)
        if (!requested.write(Buffer.alloc(1 << 20)))
          await Promise.race([once(requested, "drain"), once(requested, "close")]);
      requested.end();
    })().catch(reject);
  });
}

test("a client whose request is rejected before it is fully sent can still read the response", async (t) => {
  const { url } = await serve(t);
  for (let i = 0; i < 5; i++) assert.equal(await send(url, 12), 413);
});

test("drains the rest of the request only up to the configured time and size", async (t) => {
  const { url, sockets } = await serve(t, { octets: 1 << 20 });
  await send(url, 40).catch(() => {});
  assert.ok([...sockets][0]!.bytesRead < 30 << 20, `${[...sockets][0]!.bytesRead} bytes were read`);
  const slow = await serve(t, { ms: 50 });
  const requested = request(slow.url, {
    method: "POST",
    agent: false,
    headers: { connection: "close", "content-length": "1000" },
  });
  requested.on("error", () => {}).write("x");
  const [response] = (await once(requested, "response")) as [IncomingMessage];
  assert.equal(response.statusCode, 413);
  response.resume();
  const began = performance.now();
  const [socket] = slow.sockets;
  await new Promise((closed) => (socket!.destroyed ? closed(undefined) : socket!.once("close", closed)));
  assert.ok(performance.now() - began < 20_000);
});

test("kept-alive connections can be used for the next request", async (t) => {
  const { url } = await serve(t);
  for (let i = 0; i < 3; i++) {
    const response = await fetch(url, { method: "POST", body: Buffer.alloc(3 << 20) });
    assert.deepEqual([response.status, await response.text()], [413, "too large"]);
  }
});
