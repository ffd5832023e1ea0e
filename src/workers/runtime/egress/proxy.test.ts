import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import { createServer as createTcpServer, type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import type { WorkerRuntime } from "../../index.ts";
import { mailOf, noActions, scriptOf, startRuntime } from "../runtime.testing.ts";
import { connectTo, EgressFailed } from "./connect.ts";
import { SERVE_EGRESS } from "./egress.testing.ts";
import { createEgressCheck, DEV_EGRESS } from "./policy.ts";

describe("a worker's outbound traffic", () => {
  let origin: Server;
  let port: number;
  let runtime: WorkerRuntime;
  before(async () => {
    origin = createServer(async (request, response) => {
      if (request.url === "/hang-up") return void request.socket.destroy();
      response.writeHead(207, {
        "content-type": "text/plain",
        "x-host": request.headers.host,
        "set-cookie": ["a=1", "b=2"],
      });
      response.end(`${request.method} ${request.url} ${await text(request)}`);
    });
    origin.on("upgrade", (request, socket) => {
      const accept = createHash("sha1")
        .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
        .digest("base64");
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
      );
      socket.once("data", () => socket.end());
      socket.write(Buffer.from([0x81, 2, 0x68, 0x69])); // one text frame: "hi"
    });
    await new Promise<void>((resolve) => void origin.listen(0, "127.0.0.1", resolve));
    port = (origin.address() as AddressInfo).port;
    runtime = startRuntime();
  });
  after(async () => {
    origin.closeAllConnections();
    origin.close();
    await runtime.close();
  });

  /** Evaluates an expression in a worker. */
  async function evaluate(expression: string, on = runtime): Promise<unknown> {
    await on.deploy(
      scriptOf(
        `import { connect } from "cloudflare:sockets"; export default { async email(message) { message.setReject(JSON.stringify(await (${expression})())) } }`,
      ),
    );
    const { rejected, exception } = await on.email("test", mailOf(), noActions);
    return rejected === undefined ? exception?.message : JSON.parse(rejected);
  }

  it("carries complete requests, including streamed bodies", async () => {
    const seen = await evaluate(
      `async () => { const r = await fetch("http://127.0.0.1:${port}/a?b=c", { method: "PUT", body: new Blob(["x".repeat(100000)]).stream() }); return [r.status, r.headers.get("x-host"), r.headers.getSetCookie(), (await r.text()).length] }`,
    );
    assert.deepEqual(seen, [207, `127.0.0.1:${port}`, ["a=1", "b=2"], 100_011]);
  });

  it("frames a streamed body for every method", async () => {
    const seen = await evaluate(
      `async () => { const { readable, writable } = new TransformStream(); const writer = writable.getWriter(); writer.write(new TextEncoder().encode("body")).then(() => writer.close()); return (await fetch("http://127.0.0.1:${port}/a", { method: "DELETE", body: readable })).text() }`,
    );
    assert.equal(seen, "DELETE /a body");
  });

  it("is checked again at every redirect", async (t) => {
    const guarded = startRuntime({ egress: { ...SERVE_EGRESS, allow: ["127.0.0.2"] } });
    const redirecting = createServer((_request, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${port}/` }).end(),
    );
    await new Promise<void>((resolve) => void redirecting.listen(0, "127.0.0.2", resolve));
    t.after(async () => {
      await guarded.close();
      redirecting.close();
    });
    assert.equal(
      await evaluate(
        `async () => (await fetch("http://127.0.0.2:${(redirecting.address() as AddressInfo).port}/")).status`,
        guarded,
      ),
      403,
    );
  });

  it("carries WebSockets", async () => {
    const seen = await evaluate(
      `async () => { const { webSocket } = await fetch("http://127.0.0.1:${port}/", { headers: { upgrade: "websocket" } }); webSocket.accept(); return new Promise((resolve) => webSocket.addEventListener("message", (event) => { webSocket.close(); resolve(event.data) })) }`,
    );
    assert.equal(seen, "hi");
  });

  it("carries TCP, but not to a mail server", async (t) => {
    const server = createTcpServer((socket) => socket.end("banner"));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    t.after(() => server.close());
    assert.equal(
      await evaluate(
        `async () => new Response(connect("127.0.0.1:${(server.address() as AddressInfo).port}").readable).text()`,
      ),
      "banner",
    );
    assert.match(
      String(
        await evaluate(
          `async () => connect("127.0.0.1:25").opened.then(() => "opened", (error) => "refused " + error.message)`,
        ),
      ),
      /^refused/,
    );
  });

  it("is rejected by policy with the reason, even for a name that resolves to a denied address", async (t) => {
    const guarded = startRuntime({ egress: SERVE_EGRESS });
    t.after(() => guarded.close());
    for (const host of ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "[::ffff:127.0.0.1]"]) {
      const [status, words] = (await evaluate(
        `async () => { const r = await fetch("http://${host}:${port}/"); return [r.status, await r.text()] }`,
        guarded,
      )) as [number, string];
      assert.equal(status, 403, host);
      assert.match(words, /^fetch to .* is refused: .* closed to workers\n$/);
    }
  });

  it("reports unreachable hosts with the statuses of the hosted service", async () => {
    // No other process can listen on this port, because it belongs to the origin on another loopback address.
    assert.equal(await evaluate(`async () => (await fetch("http://127.0.0.77:${port}/")).status`), 521);
    assert.equal(await evaluate(`async () => (await fetch("http://127.0.0.1:${port}/hang-up")).status`), 521);
    await assert.rejects(
      connectTo(
        { host: "no.such.host", port: 80, tls: false },
        { check: createEgressCheck(DEV_EGRESS), lookup: () => Promise.reject(new Error("ENOTFOUND")) },
      ),
      (err) => err instanceof EgressFailed && err.status === 530,
    );
  });

  it("checks the same address that it connects to; if there are several, uses only the allowed ones", async () => {
    const lookups = [["10.0.0.1", "127.0.0.1"]];
    const check = createEgressCheck({ ...SERVE_EGRESS, allow: ["127.0.0.1"] });
    const socket = await connectTo(
      { host: "mixed.example", port, tls: false },
      { check, lookup: async () => lookups.shift()! },
    );
    assert.equal(socket.remoteAddress, "127.0.0.1");
    socket.destroy();
  });
});
