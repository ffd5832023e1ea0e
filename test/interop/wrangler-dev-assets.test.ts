import assert from "node:assert/strict";
import { request } from "node:http";
import { once } from "node:events";
import { after, before, describe, it, type TestContext } from "node:test";
import { text } from "node:stream/consumers";
import { serve } from "../e2e/dev-bench.ts";
import { createWrangler, type Wrangler } from "../support/wrangler.ts";
import { createScope } from "./platform.ts";

const WORKER = `export default {
  async fetch(request, env) {
    const { pathname, search } = new URL(request.url);
    if (pathname === "/env/fetch") return env.ASSETS.fetch(new URL(search.slice(1), request.url), { method: request.method, redirect: "manual" });
    return new Response("worker " + pathname + search);
  },
};
`;
const FILES = {
  "index.html": "<h1>home</h1>",
  "about.html": "about",
  "both.html": "both.html",
  "both/index.html": "both/index.html",
  "folder/index.html": "folder/index",
  "folder/page.html": "folder/page",
  "folder/404.html": "no such page in the folder",
  "404.html": "no such page",
  binary: "no extension",
  index: "a file named index",
  "style.css": "a {}",
  "script.js": "1",
  "data.json": "{}",
  "picture.svg": "<svg/>",
  "with space.txt": "space",
  "näme.html": "umlaut",
  "odd(name).txt": "odd",
  "empty.txt": "",
  "secret.txt": "ignored",
  "drafts/one.html": "ignored",
  "drafts/keep.html": "kept",
  ".assetsignore": "secret.txt\ndrafts/*\n!drafts/keep.html\n",
  _headers: `# Comment
/*
  X-All: yes
  X-Twice: one
/folder/*
  X-Twice: two
  X-Splat: :splat
  ! Cache-Control
/style.css
  Content-Type: text/x-custom
  Cache-Control: max-age=60
https://:host.example/host
  X-Host: :host
`,
  _redirects: `/old /about 301
/old-query /about?x=1
/go/* /folder/:splat 302
/user/:name/:id /about?user=:name&id=:id 307
/proxied /folder/page 200
/proxied-missing /nowhere 200
/out https://example.com/path 308
/out/* https://example.com/:splat
/loop/* /loop/index
/anchor /about#part
`,
};

const PATHS = [
  "/",
  "/index",
  "/index.html",
  "/index/",
  "//",
  "/about",
  "/about/",
  "/about.html",
  "/about/index",
  "/about/index.html",
  "/both",
  "/both/",
  "/both.html",
  "/both/index",
  "/both/index.html",
  "/folder",
  "/folder/",
  "/folder/index.html",
  "/folder.html",
  "/folder/page",
  "/folder/page/",
  "/folder/page.html",
  "/folder/nothing",
  "/folder/deep/nothing",
  "/folder//page",
  "/binary",
  "/binary/",
  "/binary.html",
  "/style.css",
  "/style.css/",
  "/script.js",
  "/data.json",
  "/picture.svg",
  "/with%20space.txt",
  "/with+space.txt",
  "/n%C3%A4me",
  "/n%C3%A4me.html",
  "/odd(name).txt",
  "/odd%28name%29.txt",
  "/%2e%2e/about",
  "/a/../about",
  "/%61bout",
  "/about?query=1",
  "/about.html?query=1",
  "/%zz",
  "/nothing",
  "/nothing.html",
  "/nothing/",
  "/empty.txt",
  "/secret.txt",
  "/drafts/one",
  "/drafts/keep",
  "/_headers",
  "/_redirects",
  "/.assetsignore",
  "/old",
  "/old?keep=1",
  "/old-query",
  "/old-query?other=2",
  "/go/page",
  "/go/a/b?c",
  "/go//evil.example",
  "/user/me/7",
  "/proxied",
  "/proxied-missing",
  "/out",
  "/out/a/b?q",
  "/loop/x",
  "/anchor",
  "/host",
  "/env/fetch?/about",
  "/env/fetch?/about.html",
  "/env/fetch?/nothing",
  "/env/fetch?/binary",
  "/env/fetch?/old",
  "/api/data",
  "/api/public/data",
  "/About",
  "/404",
  "/404.html",
  "/folder/404.html",
  "/%5Cevil.example/",
];

const SITES: { name: string; hasWorker: boolean; options: Record<string, unknown> }[] = [
  { name: "defaults, with a worker", hasWorker: true, options: {} },
  {
    name: "force-trailing-slash and 404 pages, without code",
    hasWorker: false,
    options: { html_handling: "force-trailing-slash", not_found_handling: "404-page" },
  },
  {
    name: "drop-trailing-slash in a single-page application, with a worker",
    hasWorker: true,
    options: { html_handling: "drop-trailing-slash", not_found_handling: "single-page-application" },
  },
  {
    name: "no HTML handling, with patterns for the worker",
    hasWorker: true,
    options: {
      html_handling: "none",
      not_found_handling: "404-page",
      run_worker_first: ["/api/*", "!/api/public/*", "/about"],
    },
  },
];

interface Sent {
  path: string;
  method: string;
  headers: Record<string, string>;
}

const REQUESTS: Sent[] = [
  ...PATHS.map((path) => ({ path, method: "GET", headers: {} })),
  ...["/about", "/nothing", "/old"].flatMap((path) => [
    { path, method: "POST", headers: {} },
    { path, method: "HEAD", headers: {} },
    { path, method: "GET", headers: { "sec-fetch-mode": "navigate" } },
    { path, method: "GET", headers: { authorization: "Basic x" } },
  ]),
];

interface Heard {
  status: number;
  headers: Record<string, unknown>;
  body: string;
}

/** Compares with the development server of wrangler, which runs the published implementation of static assets. */
describe("static assets in development answer like wrangler dev", () => {
  const scope = createScope();
  let wrangler: Wrangler;
  after(scope.close);
  before(async () => {
    wrangler = await createWrangler(scope, { api: "http://127.0.0.1:9/client/v4", token: "unused" });
    for (const [name, content] of Object.entries(FILES)) await wrangler.write(`public/${name}`, content);
    await wrangler.write("src/index.js", WORKER);
  });

  for (const { name, hasWorker, options } of SITES) {
    it(name, async (t) => {
      const config = {
        name: "site",
        compatibility_date: "2026-07-01",
        ...(hasWorker && { main: "src/index.js" }),
        assets: { directory: "public", ...(hasWorker && { binding: "ASSETS" }), ...options },
      };
      await wrangler.write("wrangler.jsonc", JSON.stringify(config));
      const [theirs, own] = [await startWrangler(t), (await serve(t, wrangler.folder)).url];
      for (const sent of REQUESTS) {
        const [expected, actual] = await Promise.all([ask(theirs, sent), ask(own, sent)]);
        assert.deepEqual(shown(actual), shown(expected), `${sent.method} ${sent.path} ${JSON.stringify(sent.headers)}`);
      }
    });
  }

  async function startWrangler(t: TestContext): Promise<string> {
    const child = wrangler.start([
      "dev",
      "--port",
      "0",
      "--inspector-port",
      "0",
      "--show-interactive-dev-session=false",
    ]);
    // On SIGTERM, wrangler also ends its child processes.
    t.after(async () => {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    });
    let output = "";
    return new Promise((resolve, reject) => {
      const read = (chunk: Buffer) => {
        output += chunk.toString();
        const [, url] = /Ready on (http:\/\/\S+)/.exec(output) ?? [];
        if (url !== undefined) resolve(url);
      };
      child.stdout!.on("data", read);
      child.stderr!.on("data", read);
      child.once("close", () => reject(new Error(`wrangler dev ended:\n${output}`)));
    });
  }
});

const COMPARED = ["location", "content-type", "cache-control", "x-all", "x-twice", "x-splat", "x-host"];

function shown({ status, headers, body }: Heard) {
  const compared = Object.fromEntries(COMPARED.map((name) => [name, headers[name]]));
  return { status, ...compared, etag: headers.etag !== undefined, body };
}

async function ask(base: string, { path, method, headers }: Sent): Promise<Heard> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, method, headers, agent: false }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode!, headers: response.headers, body }), reject);
    })
      .once("error", reject)
      .end();
  });
}
