import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import type { PlatformServer } from "../../src/server/index.ts";
import { createScope } from "./dev-bench.ts";
import { sendHttpRequest, createApi, servePlatform, TOKEN } from "./serve-client.ts";

/** Connects to `?to=`: with connect() if it is a port, with fetch() if it is a URL. */
const REACHING = `
import { connect } from "cloudflare:sockets";
export default {
  async fetch(request) {
    const to = new URL(request.url).searchParams.get("to");
    if (to.startsWith("http")) {
      const answer = await fetch(to);
      return new Response(answer.status + " " + await answer.text());
    }
    try {
      const socket = connect(to);
      await socket.opened;
      const { value } = await socket.readable.getReader().read();
      return new Response("connected: " + new TextDecoder().decode(value));
    } catch (error) {
      return new Response("refused: " + error.message);
    }
  },
};
`;

/** Sends headers with origin-wide effect in responses and upgrades. */
const WIDE = `
export default {
  fetch(request) {
    const headers = { "service-worker-allowed": "/", "clear-site-data": '"*"', "set-cookie": "a=1; Path=/; Domain=localhost", "x-mine": "1" };
    if (request.headers.get("upgrade") !== "websocket") return new Response("wide", { headers });
    const [client, socket] = Object.values(new WebSocketPair());
    socket.accept();
    return new Response(null, { status: 101, webSocket: client, headers });
  },
};
`;

describe("a hostile worker", { concurrency: true }, () => {
  const scope = createScope();
  let server: PlatformServer;
  before(async () => {
    // The operator allows loopback connections, for a service on the same machine.
    server = await servePlatform(scope, {
      env: { REELPOST_EGRESS_ALLOW: "127.0.0.1", REELPOST_NETWORK_OWN_ADDRESSES: "93.184.216.34" },
    });
    const api = createApi(server, TOKEN);
    await api.deploy("reaching", REACHING);
    await api.deploy("wide", WIDE);
  });
  after(() => scope.close());

  const reach = async (to: string) =>
    (await sendHttpRequest(server, `/workers/reaching/?to=${encodeURIComponent(to)}`)).body;

  test("cannot connect to its server's mail ports, even if the address is allowed", async () => {
    for (const { port } of [server.smtp!, server.submission!])
      assert.match(await reach(`127.0.0.1:${port}`), /^refused: /);
    assert.match(
      await reach(`http://127.0.0.1:${server.smtp!.port}/`),
      new RegExp(`^403 fetch to .* is refused: port ${server.smtp!.port} of this server is closed to workers`),
    );
    assert.equal(await reach(`${server.url}/healthz`), "200 ok\n");
  });

  test("cannot reach the public address of its server", async () => {
    assert.match(await reach("http://93.184.216.34/"), /^403 .*addresses of this server are closed to workers/);
  });

  test("cannot set origin-wide headers on a shared host, but can on its own host", async () => {
    const names = ["service-worker-allowed", "clear-site-data", "set-cookie", "x-mine", "content-security-policy"];
    const of = ({ headers }: { headers: IncomingHttpHeaders }) =>
      names.map((name) => String(headers[name]).slice(0, 8));
    assert.deepEqual(of(await sendHttpRequest(server, "/workers/wide/")), [
      "undefine",
      "undefine",
      "a=1; Pat",
      "1",
      "sandbox ",
    ]);
    assert.deepEqual((await sendHttpRequest(server, "/workers/wide/")).headers["set-cookie"], [
      "a=1; Path=/workers/wide",
    ]);
    assert.deepEqual(of(await sendHttpRequest(server, "/", { host: "wide.main.localhost" })), [
      "/",
      '"*"',
      "a=1; Pat",
      "1",
      "undefine",
    ]);
    const upgraded = httpRequest(`${server.url}/workers/wide/`, {
      headers: {
        connection: "upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": Buffer.alloc(16).toString("base64"),
      },
    }).end();
    const [response, socket] = (await once(upgraded, "upgrade")) as [IncomingMessage, Socket];
    socket.destroy();
    assert.deepEqual([response.statusCode, ...of(response).slice(0, 2)], [101, "undefine", "undefine"]);
  });

  test("receives no service worker requests on a shared host", async () => {
    const headers = { "service-worker": "script" };
    assert.equal((await sendHttpRequest(server, "/workers/wide/sw.js", { headers })).status, 403);
    assert.equal((await sendHttpRequest(server, "/sw.js", { host: "wide.main.localhost", headers })).body, "wide");
  });
});

describe("separate hosts for API, workers, videos and uploads", () => {
  const scope = createScope();
  let server: PlatformServer;
  before(async () => {
    server = await servePlatform(scope, {
      env: {
        REELPOST_API_HOSTS: "api.example.com,127.0.0.1",
        REELPOST_WORKERS_BY_PATH: "false",
        REELPOST_STREAM_UPLOAD_HOST: "uploads.example.com",
        REELPOST_STREAM_DELIVERY_DOMAIN: "videos.example.com",
      },
    });
    await createApi(server, TOKEN).deploy("wide", WIDE);
  });
  after(() => scope.close());

  const status = async (host: string, path: string) => (await sendHttpRequest(server, path, { host })).status;

  test("the API host serves no workers, uploads or videos", async () => {
    assert.equal(await status("api.example.com", "/client/v4/docs"), 200);
    for (const path of ["/workers/wide/", `/upload/${"a".repeat(32)}/secret`, `/${"a".repeat(32)}/watch`])
      assert.equal(await status("api.example.com", path), 404, path);
    assert.match(
      (await sendHttpRequest(server, `/${"a".repeat(32)}/watch`, { host: "api.example.com" })).body,
      /^Not found\. The front page/,
    );
    assert.equal(await status("wide.main.localhost", "/"), 200);
  });

  test("the upload host serves only uploads and is used in upload URLs", async () => {
    const { uploadURL } = await createApi(server, TOKEN).ok("post", "stream/direct_upload", {
      body: { maxDurationSeconds: 60 },
    });
    const { hostname, pathname, port } = new URL(uploadURL);
    assert.deepEqual([hostname, port], ["uploads.example.com", new URL(server.url).port]);
    assert.equal(
      (await sendHttpRequest(server, pathname, { host: "uploads.example.com", headers: { accept: "text/html" } }))
        .status,
      200,
    );
    assert.equal(await status("api.example.com", pathname), 404);
    for (const path of ["/client/v4/docs", "/workers/wide/", "/", "/healthz"])
      assert.equal(await status("uploads.example.com", path), 404, path);
  });

  test("respond with 421 to other host names, except for health probes", async () => {
    for (const path of ["/client/v4/docs", "/", "/workers/wide/"])
      assert.equal(await status("evil.example", path), 421, path);
    assert.deepEqual([await status("10.0.0.1", "/healthz"), await status("10.0.0.1", "/readyz")], [200, 200]);
  });
});
