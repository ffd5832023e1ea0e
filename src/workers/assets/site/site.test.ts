import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer, request, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, it, type TestContext } from "node:test";
import type { AssetsConfig } from "../config.ts";
import type { AssetFile } from "../files/port.ts";
import { readBasePath } from "../base-path.ts";
import { compileRouting } from "./routing.ts";
import { createAssetSite } from "./site.ts";

const etagOf = (content: string) => createHash("sha256").update(content).digest("hex").slice(0, 32);

function fileOf(content: string, contentType: string | undefined): AssetFile {
  return {
    etag: etagOf(content),
    size: content.length,
    contentType,
    open: async ({ start, end } = { start: 0, end: content.length - 1 }) =>
      Readable.from([Buffer.from(content).subarray(start, end + 1)]),
  };
}

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Serves files by path. Requests for the worker get status 299. */
async function start(
  t: TestContext,
  files: Record<string, string>,
  { config = {}, hasWorker = true }: { config?: AssetsConfig; hasWorker?: boolean } = {},
) {
  const found = new Map(
    Object.entries(files).map(([path, content]) => [
      path,
      fileOf(content, path.endsWith(".html") ? "text/html" : undefined),
    ]),
  );
  const routing = compileRouting(config, { compatibilityDate: "2026-01-01", compatibilityFlags: [] });
  const site = createAssetSite(() => ({
    routing,
    files: { find: (path) => found.get(path), maxPathLength: () => 100 },
  }));
  const server = createServer((incoming, response) => {
    void site.handle(incoming, response, { hasWorker }).then((handled) => {
      if (!handled) response.writeHead(299).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return (path: string, { method = "GET", headers = {} }: { method?: string; headers?: Record<string, string> } = {}) =>
    new Promise<Answer>((resolve, reject) => {
      const { port } = server.address() as AddressInfo;
      request({ port, host: "127.0.0.1", path, method, headers, agent: false }, (response) => {
        void text(response).then((body) => resolve({ status: response.statusCode!, headers: response.headers, body }));
      })
        .once("error", reject)
        .end();
    });
}

describe("a base path", () => {
  const files = { "/index.html": "home", "/page.html": "page", "/a b.txt": "text", "/404.html": "missing" };
  const summaryOf = ({ status, headers, body }: Answer) => [status, headers.location ?? body];
  const answers = async (get: Awaited<ReturnType<typeof start>>, ...paths: string[]) =>
    (await Promise.all(paths.map((path) => get(path)))).map(summaryOf);

  it("precedes the paths of assets and redirects; the worker handles other paths", async (t) => {
    const get = await start(t, files, { config: { basePath: "/docs/" } });
    assert.deepEqual(
      await answers(get, "/docs/", "/docs", "/docs/page", "/docs/a%20b.txt", "/docs/page.html?a=1", "/docs/index.html"),
      [
        [200, "home"],
        [200, "home"],
        [200, "page"],
        [200, "text"],
        [307, "/docs/page?a=1"],
        [307, "/docs/"],
      ],
    );
    assert.deepEqual(
      await answers(get, "/", "/page", "/docsy", "/docs/none"),
      Array.from({ length: 4 }, () => [299, ""]),
    );
  });

  it("applies to not_found_handling, and to redirects by their full path", async (t) => {
    const redirects = "/docs/old /docs/page 301\n/docs/proxied /docs/page 200\n/docs/out /page 200\n/old /docs/page\n";
    const config: AssetsConfig = { basePath: "/docs/", notFoundHandling: "404-page", redirects };
    const get = await start(t, files, { config, hasWorker: false });
    assert.deepEqual(await answers(get, "/docs/none", "/none", "/docs/old", "/docs/proxied", "/docs/out", "/old"), [
      [404, "missing"],
      [404, ""],
      [301, "/docs/page"],
      [200, "page"],
      [404, ""],
      [404, ""],
    ]);
  });

  it("is normalized, and rejected if it is not a path", () => {
    for (const text of ["docs", "/docs", "/docs/", "./x/..//docs/."])
      assert.deepEqual(readBasePath(text), { basePath: "/docs/" });
    for (const text of ["/", ".", "/..", "a/.."]) assert.deepEqual(readBasePath(text), { basePath: "/" });
    for (const text of ["", "//host/", "https://x/", "/a?b", "/a#b", "/a%20b", "/a\\b", "/a\nb", "x".repeat(501)])
      assert.ok("reason" in readBasePath(text), text);
  });
});

describe("asset site", () => {
  it("sends an asset with the published default headers", async (t) => {
    const get = await start(t, { "/index.html": "home" });
    const { status, headers, body } = await get("/");
    assert.deepEqual(
      [status, body, headers.etag, headers["content-type"], headers["cache-control"], headers["content-length"]],
      [200, "home", `"${etagOf("home")}"`, "text/html", "public, max-age=0, must-revalidate", "4"],
    );
  });

  it("omits Cache-Control for requests with Authorization or Range", async (t) => {
    const get = await start(t, { "/a": "0123456789" });
    assert.equal((await get("/a", { headers: { authorization: "Basic x" } })).headers["cache-control"], undefined);
    assert.equal((await get("/a", { headers: { range: "bytes=0-1" } })).headers["cache-control"], undefined);
  });

  it("answers If-None-Match with 304 for a strong, weak or listed entity tag", async (t) => {
    const get = await start(t, { "/a": "content" });
    const etag = `"${etagOf("content")}"`;
    for (const value of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const { status, body } = await get("/a", { headers: { "if-none-match": value } });
      assert.deepEqual([status, body], [304, ""], value);
    }
    assert.equal((await get("/a", { headers: { "if-none-match": '"other"' } })).status, 200);
  });

  it("answers HEAD without content", async (t) => {
    const get = await start(t, { "/a": "content" });
    const { status, headers, body } = await get("/a", { method: "HEAD" });
    assert.deepEqual([status, headers["content-length"], body], [200, "7", ""]);
  });

  it("sends one byte range, and the whole file if it has changed", async (t) => {
    const get = await start(t, { "/a": "0123456789" });
    const range = (value: string, more = {}) => get("/a", { headers: { range: value, ...more } });
    const part = await range("bytes=2-4");
    assert.deepEqual([part.status, part.body, part.headers["content-range"]], [206, "234", "bytes 2-4/10"]);
    assert.equal((await range("bytes=-3")).body, "789");
    assert.deepEqual([(await range("bytes=0-1,3-4")).status, (await range("lines=1-2")).status], [200, 200]);
    const beyond = await range("bytes=10-");
    assert.deepEqual([beyond.status, beyond.headers["content-range"]], [416, "bytes */10"]);
    assert.equal((await range("bytes=2-4", { "if-range": '"old"' })).status, 200);
    assert.equal((await range("bytes=2-4", { "if-range": `"${etagOf("0123456789")}"` })).status, 206);
  });

  it("passes requests that match no asset to the worker, or responds with 404 if there is none", async (t) => {
    assert.equal((await (await start(t, { "/a": "1" }))("/b")).status, 299);
    assert.equal((await (await start(t, { "/a": "1" }, { hasWorker: false }))("/b")).status, 404);
  });

  it("rejects other methods for an existing asset with 405", async (t) => {
    const get = await start(t, { "/a": "1" });
    const { status, headers } = await get("/a", { method: "POST" });
    assert.deepEqual([status, headers.allow], [405, "GET, HEAD"]);
    assert.equal((await get("/b", { method: "POST" })).status, 299);
  });

  it("run_worker_first runs the worker before assets, for all paths or for patterns", async (t) => {
    const files = { "/a": "1", "/api/x": "2", "/api/docs/y": "3" };
    const always = await start(t, files, { config: { runWorkerFirst: true } });
    assert.equal((await always("/a")).status, 299);
    const some = await start(t, files, { config: { runWorkerFirst: ["/api/*", "!/api/docs/*"] } });
    assert.deepEqual(
      [(await some("/a")).status, (await some("/api/x")).status, (await some("/api/docs/y")).status],
      [200, 299, 200],
    );
  });

  it("a navigation gets the single-page application; other requests reach the worker", async (t) => {
    const get = await start(t, { "/index.html": "app" }, { config: { notFoundHandling: "single-page-application" } });
    assert.equal((await get("/deep/link", { headers: { "sec-fetch-mode": "navigate" } })).body, "app");
    assert.equal((await get("/deep/link")).status, 299);
  });

  it("redirects to the canonical encoding of a path", async (t) => {
    const get = await start(t, { "/a b": "1" });
    const { status, headers } = await get("/%61%20b?x=1");
    assert.deepEqual([status, headers.location], [307, "/a%20b?x=1"]);
    assert.equal((await get("/a%20b")).body, "1");
  });

  it("an HTML file does not redirect to a path that serves another file", async (t) => {
    const sameName = await start(t, { "/a": "plain", "/a.html": "page" });
    assert.deepEqual([(await sameName("/a.html")).body, (await sameName("/a")).body], ["page", "plain"]);
    const copies = await start(t, { "/a": "same", "/a.html": "same" });
    assert.deepEqual([(await copies("/a.html")).status, (await copies("/a.html")).body], [200, "same"]);
    const files = { "/a.html": "page", "/a/index.html": "index" };
    const get = await start(t, files, { config: { htmlHandling: "drop-trailing-slash" } });
    assert.equal((await get("/a/index.html")).body, "index");
    assert.equal((await get("/a.html")).headers.location, "/a");
  });

  it("a rewrite to a missing file gets 404 without reaching the worker", async (t) => {
    const get = await start(t, { "/a": "1" }, { config: { redirects: "/old /absent 200\n/new /a 200\n" } });
    assert.deepEqual([(await get("/old")).status, (await get("/new")).body], [404, "1"]);
  });

  it("a redirect keeps the query of the request unless its destination has one", async (t) => {
    const get = await start(t, {}, { config: { redirects: "/a /b\n/c /d?y=2\n" } });
    assert.equal((await get("/a?x=1")).headers.location, "/b?x=1");
    assert.equal((await get("/c?x=1")).headers.location, "/d?y=2");
  });

  it("sends the whole file for a suffix range longer than the file", async (t) => {
    const get = await start(t, { "/a": "0123456789" });
    const { status, headers, body } = await get("/a", { headers: { range: "bytes=-20" } });
    assert.deepEqual([status, headers["content-range"], body], [206, "bytes 0-9/10", "0123456789"]);
  });

  it("the first rule that sets a header replaces its default, and later rules append values", async (t) => {
    const headers = "/*\n  Cache-Control: no-store\n  X-A: 1\n/a\n  X-A: 2\n";
    const get = await start(t, { "/a": "1" }, { config: { headers } });
    const { "cache-control": cacheControl, "x-a": appended } = (await get("/a")).headers;
    assert.deepEqual([cacheControl, appended], ["no-store", "1, 2"]);
  });

  it("navigations prefer assets from the compatibility date 2025-04-01", () => {
    const at = (compatibilityDate: string) =>
      compileRouting({}, { compatibilityDate, compatibilityFlags: [] }).navigationPrefersAssets;
    assert.deepEqual([at("2025-03-31"), at("2025-04-01")], [false, true]);
  });

  it("a placeholder in a redirect cannot change the host", async (t) => {
    const get = await start(t, {}, { config: { redirects: "/go/* /:splat\n/to/* //:splat\n" } });
    assert.equal((await get("/go//evil.example/x")).headers.location, "/evil.example/x");
    assert.equal((await get("/go/%5C%5Cevil.example")).headers.location, "/%5C%5Cevil.example");
  });

  it("a path with dot segments or encoded slashes reaches only assets", async (t) => {
    const get = await start(t, { "/a": "1", "/..%2fetc": "2" }, { hasWorker: false });
    for (const path of ["/../a", "/%2e%2e/a", "/x/../a"]) assert.equal((await get(path)).body, "1", path);
    assert.equal((await get("/..%2f..%2fetc/passwd")).status, 404);
  });

  it("matches rules with many placeholders in linear time", async (t) => {
    const source = `/${":a:b:c:d:e:f:g:h:i:j:k:l:m".replaceAll(":", "x:")}y`;
    const get = await start(t, {}, { config: { headers: `${source}\n  X-A: 1\n` }, hasWorker: false });
    const began = performance.now();
    await get(`/${"x".repeat(12_000)}`);
    // A backtracking matcher would take years.
    assert.ok(performance.now() - began < 60_000);
  });
});
