import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { request, type IncomingMessage } from "node:http";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { test, type TestContext } from "node:test";
import { silentLog } from "../kernel/index.ts";
import { createDashboard, type DashboardOptions } from "./dashboard.ts";
import { createDashboardFiles } from "./files.ts";

const SCRIPT = `console.log("${"dashboard ".repeat(300)}")`;

async function start(t: TestContext, options: Partial<DashboardOptions> = {}) {
  const files = createDashboardFiles({
    log: silentLog,
    load: async () =>
      new Map([
        ["index.html", Buffer.from('<!doctype html><script type="module" src="/assets/main-1A2B3C4D.js"></script>')],
        ["main-1A2B3C4D.js", Buffer.from(SCRIPT)],
        ["licenses.txt", Buffer.from("MIT")],
      ]),
  });
  const dashboard = createDashboard({
    mode: "serve",
    version: "1.2.3",
    api: {
      handle: async (incoming, response) => void response.end(`${incoming.method} ${incoming.headers.host}`),
    },
    hosts: ["dashboard.example.com"],
    urls: (hostname) => ({
      api: `http://${hostname}:8787`,
      upload: "https://upload.example.com",
      worker: "http://<worker>.main.localhost:8787",
      video: "https://customer-<code>.video.example.com",
    }),
    log: silentLog,
    files,
    ...options,
  });
  const { port } = await dashboard.listen({ host: "127.0.0.1", port: 0 });
  t.after(() => dashboard.close());
  return { url: `http://127.0.0.1:${port}`, port };
}

function send(
  url: string,
  { method = "GET", headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
) {
  return new Promise<{ response: IncomingMessage; body: Buffer }>((resolve, reject) => {
    request(url, { method, headers }, async (response) => {
      const parts = await response.toArray();
      resolve({ response, body: Buffer.concat(parts) });
    })
      .on("error", reject)
      .end(body);
  });
}

test("serves one page for all paths, with a policy that names the origins of this server only", async (t) => {
  const { url } = await start(t);
  for (const path of ["/", "/dns/abc", "/stream?page=2"]) {
    const { response, body } = await send(url + path);
    assert.equal(response.statusCode, 200);
    assert.match(body.toString(), /^<!doctype html>/);
    assert.equal(response.headers["cache-control"], "no-cache");
    const policy = String(response.headers["content-security-policy"]);
    assert.match(policy, /default-src 'none'; script-src 'self';/);
    assert.match(policy, /frame-ancestors 'none'$/);
    assert.match(
      policy,
      /connect-src 'self' http:\/\/127\.0\.0\.1:8787 https:\/\/upload\.example\.com http:\/\/\*\.main\.localhost:8787 https:\/\/\*\.video\.example\.com ws:/,
    );
    for (const [name, value] of [
      ["x-content-type-options", "nosniff"],
      ["x-frame-options", "DENY"],
      ["referrer-policy", "no-referrer"],
      ["cross-origin-opener-policy", "same-origin"],
    ] as const)
      assert.equal(response.headers[name], value);
    assert.equal(response.headers["set-cookie"], undefined);
  }
  assert.equal((await send(`${url}/robots.txt`)).response.statusCode, 404);
  assert.equal((await send(`${url}/assets/index.html`)).response.statusCode, 404);
  assert.equal((await send(`${url}/assets/..%2fmain.js`)).response.statusCode, 404);
  assert.equal((await send(`${url}/dns`, { method: "POST" })).response.statusCode, 405);
});

test("compresses files, and lets browsers keep the hashed ones for a year", async (t) => {
  const { url } = await start(t);
  const file = `${url}/assets/main-1A2B3C4D.js`;
  const plain = await send(file);
  assert.equal(plain.body.toString(), SCRIPT);
  assert.equal(plain.response.headers["cache-control"], "public, max-age=31536000, immutable");
  const brotli = await send(file, { headers: { "accept-encoding": "gzip, br" } });
  assert.equal(brotli.response.headers["content-encoding"], "br");
  assert.equal(brotliDecompressSync(brotli.body).toString(), SCRIPT);
  const gzip = await send(file, { headers: { "accept-encoding": "gzip, br;q=0" } });
  assert.equal(gzip.response.headers["content-encoding"], "gzip");
  assert.equal(gunzipSync(gzip.body).toString(), SCRIPT);
  const unchanged = await send(file, { headers: { "if-none-match": String(plain.response.headers.etag) } });
  assert.equal(unchanged.response.statusCode, 304);
  assert.equal((await send(`${url}/assets/licenses.txt`)).response.headers["cache-control"], "no-cache");
});

test("serves the documentation under /docs, with a policy that forbids inline scripts and styles", async (t) => {
  const docs = createDashboardFiles({
    log: silentLog,
    load: async () =>
      new Map([
        ["index.html", Buffer.from("start")],
        ["files/deploy.html", Buffer.from("deploy")],
        ["search.json", Buffer.from("[]")],
        ["assets/docs-1A2B3C4D.css", Buffer.from("css")],
      ]),
  });
  const { url } = await start(t, { docs });
  for (const [path, text] of [
    ["/docs", "start"],
    ["/docs?q=x", "start"],
    ["/docs/files/deploy", "deploy"],
    ["/docs/search.json", "[]"],
  ] as const)
    assert.equal((await send(url + path)).body.toString(), text, path);
  const { headers } = (await send(`${url}/docs`)).response;
  assert.match(String(headers["content-security-policy"]), /^default-src 'none'; script-src 'self'; style-src 'self';/);
  assert.equal(headers["content-type"], "text/html; charset=utf-8");
  const style = (await send(`${url}/docs/assets/docs-1A2B3C4D.css`)).response;
  assert.equal(style.headers["cache-control"], "public, max-age=31536000, immutable");
  const slash = (await send(`${url}/docs/`)).response;
  assert.deepEqual([slash.statusCode, slash.headers.location], [308, "/docs"]);
  for (const path of ["/docs/none", "/docs/..%2findex", "/docs/index.html/x"])
    assert.equal((await send(url + path)).response.statusCode, 404, path);
});

test("sends errors to browsers as pages, and to other clients as text", async (t) => {
  const { url } = await start(t);
  const text = await send(`${url}/robots.txt`);
  assert.deepEqual(
    [text.response.headers["content-type"], String(text.body)],
    ["text/plain; charset=utf-8", "Not found.\n"],
  );
  const page = await send(`${url}/robots.txt`, { headers: { accept: "text/html" } });
  assert.equal(page.response.statusCode, 404);
  assert.match(String(page.body), /<h1>Page not found<\/h1>/);
  assert.match(
    String(page.response.headers["content-security-policy"]),
    /style-src 'sha256-[^']+'; .*frame-ancestors 'none'/,
  );
});

test("describes the server in app.json", async (t) => {
  const { url } = await start(t, { mode: "dev", features: ["inbox"], chunkBytes: 5_242_880 });
  const { body } = await send(`${url}/app.json`);
  assert.deepEqual(JSON.parse(body.toString()), {
    mode: "dev",
    version: "1.2.3",
    urls: {
      api: "http://127.0.0.1:8787",
      upload: "https://upload.example.com",
      worker: "http://<worker>.main.localhost:8787",
      video: "https://customer-<code>.video.example.com",
    },
    features: ["inbox"],
    chunkBytes: 5_242_880,
  });
});

test("states its version in app.json only to signed-in requests", async (t) => {
  const { url } = await start(t, { isSignedIn: async ({ headers }) => headers.authorization === "Bearer secret" });
  const versionFor = async (headers: Record<string, string>) =>
    (JSON.parse((await send(`${url}/app.json`, { headers })).body.toString()) as { version?: string }).version;
  assert.equal(await versionFor({}), undefined);
  assert.equal(await versionFor({ authorization: "Bearer other" }), undefined);
  assert.equal(await versionFor({ authorization: "Bearer secret" }), "1.2.3");
});

test("passes API requests on while their body is still arriving, under the host name of the API", async (t) => {
  const firstChunk = Promise.withResolvers<string>();
  const { url } = await start(t, {
    api: {
      async handle(incoming, response) {
        for await (const chunk of incoming) firstChunk.resolve(String(chunk));
        response.end(
          `${incoming.headers.host} ${incoming.rawHeaders[incoming.rawHeaders.findIndex((name) => name.toLowerCase() === "host") + 1]}`,
        );
      },
    },
  });
  const sending = request(`${url}/client/v4/zones`, { method: "POST" });
  sending.write("first");
  assert.equal(await firstChunk.promise, "first");
  sending.end("last");
  const [response] = (await once(sending, "response")) as [IncomingMessage];
  assert.equal(Buffer.concat(await response.toArray()).toString(), "127.0.0.1:8787 127.0.0.1:8787");
  assert.equal(response.headers["cache-control"], "no-store");
});

test("passes WebSocket upgrades of its own pages to the API", async (t) => {
  const { port } = await start(t, {
    api: {
      handle() {},
      upgrade(incoming, socket) {
        if (incoming.url !== "/client/v4/tails/1") return false;
        socket.end(
          `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nhost-seen: ${incoming.headers.host}\r\n\r\n`,
        );
        return true;
      },
    },
  });
  async function upgrade(path: string, origin: string) {
    const socket = connect(port, "127.0.0.1");
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nOrigin: ${origin}\r\n\r\n`,
    );
    return Buffer.concat(await socket.toArray()).toString();
  }
  assert.match(
    await upgrade("/client/v4/tails/1", `http://127.0.0.1:${port}`),
    /^HTTP\/1\.1 101 .*host-seen: 127\.0\.0\.1:8787/s,
  );
  assert.match(await upgrade("/client/v4/tails/1", "http://127.0.0.1:8787"), /^HTTP\/1\.1 403 /);
  assert.match(await upgrade("/other", `http://127.0.0.1:${port}`), /^HTTP\/1\.1 404 /);
});

test("passes /auth/ to sign-in, and has no sign-in without it", async (t) => {
  const without = await start(t);
  assert.equal((await send(`${without.url}/auth/methods`, { method: "POST" })).response.statusCode, 404);
  const { url } = await start(t, {
    auth: async ({ url: path }, response) => {
      if (path !== "/auth/methods") return false;
      response.end(`auth ${path}`);
      return true;
    },
  });
  assert.equal((await send(`${url}/auth/other`, { method: "POST" })).response.statusCode, 404);
  assert.equal((await send(`${url}/auth/methods`, { method: "POST" })).body.toString(), "auth /auth/methods");
  const foreign = await send(`${url}/auth/methods`, { method: "POST", headers: { origin: "https://evil.example" } });
  assert.equal(foreign.response.statusCode, 403);
});

test("serves frames for untrusted messages that run only the frame's own script and, unless requested, load nothing from other hosts", async (t) => {
  const { url } = await start(t);
  const policyOf = async (path: string) => String((await send(url + path)).response.headers["content-security-policy"]);
  const policy = await policyOf("/message-frame");
  assert.match(policy, /^sandbox allow-scripts allow-popups/);
  assert.doesNotMatch(policy, /https?:|allow-same-origin|unsafe-inline'[^;]*script/);
  assert.match(policy, /script-src 'sha256-[^']+';/);
  assert.match(await policyOf("/message-frame?remote"), /img-src data: blob: https: http:;/);
});
