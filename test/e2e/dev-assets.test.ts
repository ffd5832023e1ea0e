import assert from "node:assert/strict";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { isEmail, makeProject, message, serve, writeProjectFile } from "./dev-bench.ts";

const WORKER = `export default {
  async fetch(request, env) {
    if (new URL(request.url).pathname === "/through") return env.ASSETS.fetch(new URL("/page", request.url));
    return new Response("worker");
  },
  async email() {},
};
`;
const ASSETS = { assets: { directory: "public", binding: "ASSETS" } };

it("serves the current files of the assets directory and passes other requests to the worker", async (t) => {
  const folder = await makeProject(t, { "src/index.ts": WORKER, "public/page.html": "one" }, ASSETS);
  const server = await serve(t, folder);
  const ask = async (path: string) => (await fetch(server.url + path)).text();
  assert.deepEqual([await ask("/page"), await ask("/through"), await ask("/other")], ["one", "one", "worker"]);

  await writeProjectFile(folder, "public/page.html", "changed");
  await writeProjectFile(folder, "public/new.txt", "new");
  await writeProjectFile(folder, "public/_headers", "/*\n  X-New: yes\nbad line\n");
  assert.deepEqual([await ask("/page"), await ask("/through"), await ask("/new.txt")], ["changed", "changed", "new"]);
  assert.equal((await fetch(`${server.url}/page`)).headers.get("x-new"), "yes");
  await server.event((event) => event.event === "warning" && /_headers:3/.test(event.text));
  await rm(join(folder, "public/new.txt"));
  assert.equal(await ask("/new.txt"), "worker");

  // Mail still reaches the worker.
  assert.equal((await server.post(message())).status, 200);
  assert.equal((await server.event(isEmail)).outcome, "ok");
});

it("a request for an asset is reported without an invocation", async (t) => {
  const folder = await makeProject(t, { "src/index.ts": WORKER, "public/page.html": "one" }, ASSETS);
  const server = await serve(t, folder);
  await (await fetch(`${server.url}/page`)).text();
  const event = await server.event((each) => each.event === "fetch");
  assert.deepEqual(event.event === "fetch" && [event.url, event.status, event.outcome, event.logs], [
    "/page",
    200,
    "ok",
    [],
  ]);
});

it("follows configuration changes, including to a worker without code", async (t) => {
  const folder = await makeProject(
    t,
    { "src/index.ts": WORKER, "public/index.html": "home", "other/index.html": "other" },
    ASSETS,
  );
  const server = await serve(t, folder);
  const ask = async (path: string) => (await fetch(server.url + path)).text();
  const change = async (config: object) => {
    const built = new Promise<void>((resolve) => {
      const before = server.events.length;
      void server
        .event((event) => event.event === "built" && server.events.indexOf(event) >= before)
        .then(() => resolve());
    });
    // Renamed into place, as editors do, so that the server never reads a partial file.
    const next = JSON.stringify({ name: "test", compatibility_date: "2026-10-01", ...config });
    await writeProjectFile(folder, "next.jsonc", next);
    await rename(join(folder, "next.jsonc"), join(folder, "wrangler.jsonc"));
    await built;
  };
  assert.equal(await ask("/"), "home");
  await change({ main: "src/index.ts", assets: { directory: "other", binding: "ASSETS" } });
  assert.equal(await ask("/"), "other");
  await change({ main: "src/index.ts", assets: { directory: "other", binding: "ASSETS", run_worker_first: true } });
  assert.equal(await ask("/"), "worker");
  await change({ assets: { directory: "public" } });
  assert.equal(await ask("/"), "home");
  assert.equal((await fetch(`${server.url}/other`)).status, 404);
  assert.equal((await server.post(message())).status, 500);
  await change({ main: "src/index.ts" });
  assert.equal(await ask("/"), "worker");
});
