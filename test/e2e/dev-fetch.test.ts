import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import {
  createScope,
  isEmail,
  mailer,
  makeProject,
  message,
  serve,
  writeProjectFile,
  type TestServer,
} from "./dev-bench.ts";

const FIRST = `
export default {
  async fetch(request) {
    const { pathname, search } = new URL(request.url);
    if (pathname === "/ticks") {
      const { readable, writable } = new TransformStream();
      const writer = writable.getWriter();
      (async () => {
        for (const word of ["one", "two"]) {
          await writer.write(new TextEncoder().encode(word));
          await (await fetch(request.headers.get("x-gate"))).text();
        }
        await writer.close();
      })();
      return new Response(readable);
    }
    if (pathname === "/ws") {
      const [client, server] = Object.values(new WebSocketPair());
      server.accept();
      server.addEventListener("message", ({ data }) => server.send("echo " + data));
      return new Response(null, { status: 101, webSocket: client });
    }
    if (pathname === "/upload") {
      let bytes = 0;
      for await (const chunk of request.body) bytes += chunk.length;
      return Response.json({ bytes, method: request.method });
    }
    if (pathname === "/status") return new Response("teapot", { status: 418, headers: [["set-cookie", "a=1"], ["set-cookie", "b=2"]] });
    return new Response("first " + pathname + search);
  },
  async email(message) { console.log("first"); },
};
`;
const SECOND = `export default { fetch: (request) => new Response("second " + new URL(request.url).pathname), async email(message) { console.log("second"); } };`;

describe("requests to the worker's fetch handler", () => {
  const scope = createScope();
  let server: TestServer;
  before(async () => {
    const folder = await makeProject(scope, { "src/index.ts": FIRST }, { name: "first" });
    await writeProjectFile(
      folder,
      "other/wrangler.jsonc",
      JSON.stringify({
        name: "second",
        main: "index.js",
        compatibility_date: "2026-10-01",
        addresses: ["*@second.example"],
      }),
    );
    await writeProjectFile(folder, "other/index.js", SECOND);
    server = await serve(scope, folder, { configs: ["wrangler.jsonc", "other/wrangler.jsonc"] });
  });
  after(scope.close);

  it("pass status, headers and bodies through unchanged", async () => {
    const response = await fetch(`${server.url}/status`);
    assert.equal(response.status, 418);
    assert.deepEqual(response.headers.getSetCookie(), ["a=1", "b=2"]);
    assert.equal(await response.text(), "teapot");
    const upload = await fetch(`${server.url}/upload`, { method: "PUT", body: new Uint8Array(3_000_000) });
    assert.deepEqual(await upload.json(), { bytes: 3_000_000, method: "PUT" });
  });

  it("stream output to the client while the worker is still running", async (t) => {
    const { createServer } = await import("node:http");
    const gates: (() => void)[] = [];
    const gate = createServer((_, response) => void gates.push(() => response.end("go"))).listen(0, "127.0.0.1");
    t.after(() => gate.close());
    await once(gate, "listening");
    const response = await fetch(`${server.url}/ticks`, {
      headers: { "x-gate": `http://127.0.0.1:${(gate.address() as { port: number }).port}/` },
    });
    const reader = response.body!.getReader();
    for (const word of ["one", "two"]) {
      assert.equal(new TextDecoder().decode((await reader.read()).value), word);
      while (gates.length === 0) await new Promise((resolve) => setImmediate(resolve));
      gates.shift()!();
    }
    assert.equal((await reader.read()).done, true);
  });

  it("carry WebSockets", async () => {
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws`);
    await once(socket, "open");
    socket.send("hello");
    const [event] = (await once(socket, "message")) as [MessageEvent];
    assert.equal(event.data, "echo hello");
    socket.close();
    await once(socket, "close");
  });

  it("reach another worker by path or host", async () => {
    const text = async (path: string, init?: RequestInit) => (await fetch(`${server.url}${path}`, init)).text();
    assert.equal(await text("/a?worker=second"), "first /a?worker=second");
    assert.equal(await text("/cdn-cgi/worker/second/a"), "second /a");
    assert.equal((await fetch(`${server.url}/cdn-cgi/worker/third/a`)).status, 404);
  });

  it("deliver mail to the specified worker, or to the worker configured for the recipient", async (t) => {
    const handledBy = async (to: string) => {
      const event = await server.event((e) => isEmail(e) && e.to === to);
      assert.ok(isEmail(event));
      return event.logs[0]!.message[0];
    };
    await server.post(message(), "from=a@example.com&to=named@example.org&worker=second");
    assert.equal(await handledBy("named@example.org"), "second");
    await fetch(`${server.url}/cdn-cgi/worker/second/__email`, {
      method: "POST",
      body: message({ To: "path@example.org" }),
    });
    assert.equal(await handledBy("path@example.org"), "second");
    await server.post(message(), "from=a@example.com&to=default@example.org");
    assert.equal(await handledBy("default@example.org"), "first");
    const client = mailer(t, server);
    await client.sendMail({
      from: "a@example.com",
      to: ["smtp@second.example", "smtp@else.example"],
      subject: "x",
      text: "x",
    });
    assert.equal(await handledBy("smtp@second.example"), "second");
    assert.equal(await handledBy("smtp@else.example"), "first");
  });
});
