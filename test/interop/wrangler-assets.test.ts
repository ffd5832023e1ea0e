import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { request, type IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { publishedOpenApi } from "../support/published-openapi.ts";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const WORKER = `export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/api/through") return env.ASSETS.fetch(new URL("/about", request.url));
    return new Response("worker " + pathname + " " + (env.KEY ?? ""));
  },
};
`;
const CONFIG = {
  name: "site",
  main: "src/index.js",
  compatibility_date: "2026-10-01",
  assets: { directory: "public", binding: "ASSETS", not_found_handling: "404-page", run_worker_first: ["/api/*"] },
};

describe("wrangler deploy with static assets", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler({
      "wrangler.jsonc": JSON.stringify(CONFIG),
      "src/index.js": WORKER,
      "public/index.html": "<h1>home</h1>",
      "public/about.html": "about",
      "public/404.html": "no such page",
      "public/api/file.txt": "an asset below the worker's path",
      "public/_headers": "/*\n  X-Site: yes\n",
      "public/_redirects": "/old /about 301\n",
      "public/.assetsignore": "*.secret\n",
      "public/key.secret": "ignored",
    });
    // Too large to share an upload request with another file.
    await wrangler.write("public/large.bin", Buffer.alloc(20 * 1024 * 1024, 7));
  });
  after(scope.close);

  const get = (worker: string, path: string, headers: Record<string, string> = {}) =>
    new Promise<{ status: number; headers: IncomingHttpHeaders; body: string }>((resolve, reject) => {
      const host = `${worker}.${platform.label}.localhost`;
      request(`${platform.url}${path}`, { headers: { host, ...headers }, agent: false }, (response) => {
        text(response).then(
          (body) => resolve({ status: response.statusCode!, headers: response.headers, body }),
          reject,
        );
      })
        .once("error", reject)
        .end();
    });

  it("the first deploy uploads the files and serves them before the worker", async () => {
    const { text: output } = await wrangler.run(["deploy"]);
    assert.match(output, /Success! Uploaded 5 files/);
    const home = await get("site", "/");
    assert.deepEqual(
      [home.status, home.body, home.headers["content-type"], home.headers["x-site"], home.headers["cache-control"]],
      [200, "<h1>home</h1>", "text/html; charset=utf-8", "yes", "public, max-age=0, must-revalidate"],
    );
    const known = await get("site", "/", { "if-none-match": home.headers.etag! });
    assert.deepEqual([known.status, known.body], [304, ""]);
    assert.deepEqual((await get("site", "/about.html")).headers.location, "/about");
    assert.deepEqual((await get("site", "/old")).status, 301);
    assert.equal((await get("site", "/api/file.txt")).body, "worker /api/file.txt ");
    assert.equal((await get("site", "/key.secret")).status, 404);
    assert.equal((await get("site", "/api/through")).body, "about");
  });

  it("if run_worker_first is a list, other missing paths get the 404 page", async () => {
    const { status, body } = await get("site", "/nothing");
    assert.deepEqual([status, body], [404, "no such page"]);
  });

  it("a range of a large file is sent, and the whole file arrives unchanged", async () => {
    const part = await get("site", "/large.bin", { range: "bytes=100-109" });
    assert.deepEqual([part.status, part.body], [206, "\u0007".repeat(10)]);
    const response = await fetch(`${platform.url}/workers/site/large.bin`);
    const hash = createHash("sha256")
      .update(Buffer.from(await response.arrayBuffer()))
      .digest("hex");
    assert.equal(
      hash,
      createHash("sha256")
        .update(Buffer.alloc(20 * 1024 * 1024, 7))
        .digest("hex"),
    );
  });

  it("under a path of the shared host, assets are sandboxed and redirects stay below the path", async () => {
    const page = await fetch(`${platform.url}/workers/site/`);
    assert.match(page.headers.get("content-security-policy") ?? "", /^sandbox /);
    const moved = await fetch(`${platform.url}/workers/site/about.html`, { redirect: "manual" });
    assert.equal(moved.headers.get("location"), "/workers/site/about");
  });

  it("a new secret keeps the assets", async () => {
    await wrangler.run(["secret", "put", "KEY"], { input: "s3cret" });
    assert.equal((await get("site", "/about")).body, "about");
    assert.equal((await get("site", "/api/x")).body, "worker /api/x s3cret");
  });

  it("a later deploy uploads only what has changed, and a rollback serves the old files", async () => {
    await wrangler.write("public/about.html", "about us");
    const { text: output } = await wrangler.run(["deploy"]);
    assert.match(output, /Uploaded 1 file \(4 already uploaded\)/);
    assert.equal((await get("site", "/about")).body, "about us");
    await wrangler.run(["rollback", "-y", "-m", "undo"]);
    assert.equal((await get("site", "/about")).body, "about");
  });

  it("a worker without code serves only its assets, and the list shows that it has no modules", async () => {
    const { main: _, ...config } = CONFIG;
    await wrangler.write(
      "wrangler.jsonc",
      JSON.stringify({ ...config, name: "pages", assets: { directory: "public", not_found_handling: "404-page" } }),
    );
    await wrangler.run(["deploy"]);
    assert.equal((await get("pages", "/about")).body, "about us");
    const missing = await get("pages", "/nothing");
    assert.deepEqual([missing.status, missing.body], [404, "no such page"]);
    assert.equal((await get("pages", "/about", { upgrade: "websocket", connection: "upgrade" })).status, 503);
    const scripts = await platform.ask<{ id: string; has_assets: boolean; has_modules: boolean }[]>(
      `/accounts/${platform.account}/workers/scripts`,
    );
    assert.deepEqual(
      scripts.map(({ id, has_assets, has_modules }) => [id, has_assets, has_modules]),
      [
        ["pages", true, false],
        ["site", true, true],
      ],
    );
  });

  it("the upload session and its errors are as published", async () => {
    const path = `/accounts/${platform.account}/workers/scripts/site/assets-upload-session`;
    const send = async (manifest: unknown) => {
      const response = await fetch(`${platform.api}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${platform.token}`, "content-type": "application/json" },
        body: JSON.stringify({ manifest }),
      });
      const body = (await response.json()) as { result: { jwt: string; buckets: string[][] } };
      const problems = publishedOpenApi()?.problems("POST", path, response.status, body) ?? [];
      assert.deepEqual(problems, []);
      return { status: response.status, ...body };
    };
    const hash = "0123456789abcdef0123456789abcdef";
    const session = await send({ "/new.html": { hash, size: 3 } });
    assert.deepEqual([session.status, session.result.buckets], [200, [[hash]]]);
    assert.equal((await send({ "../x": { hash, size: 3 } })).status, 400);

    const upload = async (token: string, content: string) => {
      const form = new FormData();
      form.set(hash, new File([Buffer.from(content).toString("base64")], hash, { type: "text/html" }));
      const response = await fetch(`${platform.api}/accounts/${platform.account}/workers/assets/upload?base64=true`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        body: form,
      });
      return { status: response.status, body: (await response.json()) as { result: { jwt?: string } | null } };
    };
    assert.equal((await upload(platform.token, "abc")).status, 401);
    assert.equal((await upload(session.result.jwt, "wrong size")).status, 400);
    const done = await upload(session.result.jwt, "abc");
    assert.deepEqual([done.status, typeof done.body.result?.jwt], [201, "string"]);
  });

  it("with base_path, files are below it and the worker handles other paths", async () => {
    const { run_worker_first: _, ...assets } = CONFIG.assets;
    const based = await platform.wrangler({
      "wrangler.jsonc": JSON.stringify({ ...CONFIG, name: "based", assets: { ...assets, base_path: "/docs" } }),
      "src/index.js": WORKER,
      "public/index.html": "home",
      "public/about.html": "about",
    });
    await based.run(["deploy"]);
    const summaries = await Promise.all(
      ["/docs/", "/docs/about", "/docs/about.html", "/about"].map(async (path) => {
        const { status, headers, body } = await get("based", path);
        return [status, headers.location ?? body];
      }),
    );
    assert.deepEqual(summaries, [
      [200, "home"],
      [200, "about"],
      [307, "/docs/about"],
      [200, "worker /about "],
    ]);
  });
});
