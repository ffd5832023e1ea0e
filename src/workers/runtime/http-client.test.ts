import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createHttpClient, type HttpClientOptions } from "./http-client.ts";

/** Starts a server whose responses are written byte by byte by the test. */
async function serve(
  t: TestContext,
  onRequest: (socket: Socket, request: string, connection: number) => void,
  options: Partial<HttpClientOptions> = {},
) {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-http-"));
  const socketPath = join(folder, "s");
  let connections = 0;
  const server = createServer((socket) => {
    const number = ++connections;
    socket.on("data", (chunk) => onRequest(socket, chunk.toString("latin1"), number)).on("error", () => {});
  });
  await new Promise<void>((resolve) => void server.listen(socketPath, resolve));
  const client = createHttpClient({ socketPath, maxConnections: 2, ...options });
  t.after(async () => {
    client.close();
    server.close();
    await rm(folder, { recursive: true });
  });
  return {
    post: (text: string, headers = {}) => client.post(headers, Buffer.from(text)),
    connections: () => connections,
    server,
  };
}

const ok = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

describe("the HTTP client for workerd", () => {
  it("sends a complete request and reads the response, however it is split", async (t) => {
    const { post } = await serve(t, (socket, request) => {
      for (const byte of ok(request)) socket.write(byte);
    });
    const { status, body } = await post("text", { "x-a": 1 }).answer;
    assert.equal(status, 200);
    assert.equal(body, "POST / HTTP/1.1\r\nhost: mail\r\ncontent-length: 4\r\nx-a: 1\r\n\r\ntext");
  });

  it("keeps connections open, never exceeds the limit, and queues the other requests", async (t) => {
    const { post, connections } = await serve(
      t,
      (socket, request) => void setImmediate(() => socket.write(ok(request.split("\r\n\r\n")[1]!))),
    );
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => post(String(i)).answer));
    assert.deepEqual(
      answers.map(({ body }) => body),
      Array.from({ length: 20 }, (_, i) => String(i)),
    );
    assert.equal(connections(), 2);
  });

  it("retries a request sent on a kept-alive connection that was just closing", async (t) => {
    const { post, connections } = await serve(
      t,
      (socket, request, connection) =>
        connection === 1 && request.endsWith("second") ? socket.destroy() : socket.write(ok("fine")),
      { maxConnections: 1 },
    );
    await post("first").answer;
    assert.equal((await post("second").answer).body, "fine");
    assert.equal(connections(), 2);
  });

  it("retries on a new connection, since all idle ones may be closing", async (t) => {
    const { post, connections } = await serve(t, (socket, request, connection) => {
      if (connection <= 2 && request.endsWith("again")) socket.destroy();
      else setImmediate(() => socket.write(ok("fine")));
    });
    await Promise.all([post("first").answer, post("second").answer]);
    assert.equal(connections(), 2);
    assert.equal((await post("again").answer).body, "fine");
    assert.equal(connections(), 3);
  });

  it("does not retry on a new connection or after a partial response", async (t) => {
    const { post } = await serve(t, (socket, request) =>
      request.endsWith("half") ? socket.end("HTTP/1.1 200") : socket.destroy(),
    );
    await assert.rejects(post("gone").answer, /closed before the response|ECONNRESET/);
    await assert.rejects(post("half").answer, /closed before the response/);
  });

  it("drops an abandoned request together with its connection", async (t) => {
    let closed: () => void;
    const gone = new Promise<void>((resolve) => (closed = resolve));
    const { post } = await serve(
      t,
      (socket, request) =>
        void (request.endsWith("slow") ? socket.once("close", () => closed()) : socket.write(ok("next"))),
      { maxConnections: 1 },
    );
    const slow = post("slow");
    const next = post("next");
    setImmediate(() => setImmediate(() => slow.abandon(new Error("too long"))));
    await assert.rejects(slow.answer, /too long/);
    assert.equal((await next.answer).body, "next");
    await gone;
  });

  it("rejects responses that are too long or not from workerd, and queues that are too long", async (t) => {
    const { post } = await serve(
      t,
      (socket, request) =>
        void socket.write(
          request.endsWith("long") ? "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" : "HELLO\r\n\r\n",
        ),
      { maxAnswer: 1000 },
    );
    await assert.rejects(post("long").answer, /too long/);
    await assert.rejects(post("odd").answer, /not valid for workerd/);
    const busy = await serve(t, () => {}, { maxConnections: 1, maxWaiting: 1 });
    const held = [busy.post("1"), busy.post("2")];
    await assert.rejects(busy.post("3").answer, /1 messages are waiting/);
    for (const exchange of held) {
      exchange.answer.catch(() => {});
      exchange.abandon(new Error("over"));
    }
  });
});
