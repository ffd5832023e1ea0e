import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { test, type TestContext } from "node:test";
import { silentLog } from "../../kernel/index.ts";
import { createDevHttp } from "./dev-http.ts";

async function start(t: TestContext) {
  const unused = () => Promise.reject(new Error("not used in this test"));
  const http = createDevHttp({
    runtime: { fetch: unused, scheduled: unused, upgrade: () => {} },
    receive: unused,
    workers: ["one"],
    unavailable: () => undefined,
    video: unused,
    s3: async (_, response) => void response.end("object"),
    analytics: { query: unused },
    storage: unused,
    tails: () => false,
    health: () => ({}),
    metrics: unused,
    log: silentLog,
  });
  const { port } = await http.listen({ host: "127.0.0.1", port: 0 });
  t.after(() => http.close());
  return async (path: string, host: string) => {
    const request = httpRequest({ host: "127.0.0.1", port, path, headers: { host }, agent: false }).end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return { status: response.statusCode, text: Buffer.concat(await response.toArray()).toString() };
  };
}

test("the S3 endpoint does not answer a page that reached it by DNS rebinding", async (t) => {
  const get = await start(t);
  assert.deepEqual(await get("/cdn-cgi/s3/bucket/a", "localhost:8787"), { status: 200, text: "object" });
  for (const path of ["/cdn-cgi/s3/bucket/a", "/cdn-cgi/s3"]) {
    const { status, text } = await get(path, "evil.example:8787");
    assert.equal(status, 403, path);
    assert.match(text, /"evil\.example:8787": use localhost or an IP address/);
  }
});
