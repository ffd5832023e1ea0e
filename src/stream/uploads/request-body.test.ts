import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { discardBody, receivedBody } from "./request-body.ts";

const HEAD = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n";

async function connected(t: TestContext, listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
  t.after(() => {
    socket.destroy();
    server.close();
  });
  return socket;
}

test("a body ends without an error where its connection was lost, with all data that arrived before", async (t) => {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const socket = await connected(t, (request) => {
    // Read after the connection was lost: the data is in the buffer of the request.
    request.on("error", () => {}).once("readable", () => request.socket.destroy());
    request.once("close", () => resolve(buffer(receivedBody(request))));
  });
  socket.end(`${HEAD}${"x".repeat(5000)}`);
  assert.equal((await promise).toString(), "x".repeat(5000));
});

test("an abort ends a body that waits for data; the response is still sent", async (t) => {
  const stop = new AbortController();
  const socket = await connected(t, async (request, response) => {
    let octets = 0;
    for await (const piece of receivedBody(request, stop.signal)) if ((octets += piece.length) === 10) stop.abort();
    response.end(`${octets} bytes`);
  });
  socket.write(`${HEAD}${"x".repeat(10)}`);
  assert.match(String((await once(socket, "data"))[0]), /10 bytes/);
});

test("discards a body up to a limit, then closes the connection", async (t) => {
  const { promise: discarded, resolve } = Promise.withResolvers<void>();
  const socket = await connected(t, (request, response) => {
    response.writeHead(413, { "content-length": 1 }).write("x");
    void discardBody(request, 100_000).then(resolve);
  });
  socket.write(HEAD);
  assert.match(String((await once(socket, "data"))[0]), /^HTTP\/1.1 413/);
  socket.write("x".repeat(100_001));
  await Promise.all([discarded, once(socket, "close")]);
});
