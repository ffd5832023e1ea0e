import assert from "node:assert/strict";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { folderWith, runCli } from "../../src/cli/cli.testing.ts";
import { spawnServe, type ServeProcess } from "../support/serve.ts";
import { createScope } from "./dev-bench.ts";

const CONFIG = { name: "site", compatibility_date: "2026-10-01", assets: { directory: "public" } };

describe("reelpost deploy with static assets", () => {
  const scope = createScope();
  let server: ServeProcess;
  let cwd: string;
  const run = async (args: string[]) => {
    const ran = await runCli(args, { cwd, env: {} });
    assert.equal(ran.code, 0, `${args.join(" ")}\n${ran.stdout}${ran.stderr}`);
    return ran;
  };
  const get = async (path: string) => {
    const response = await fetch(`${server.ready.url}/workers/site${path}`);
    return [response.status, await response.text(), response.headers.get("content-type")];
  };
  before(async () => {
    server = await spawnServe(scope);
    cwd = await folderWith(scope, {
      "wrangler.json": JSON.stringify(CONFIG),
      "worker.js": `export default { fetch: async (request, env) => new Response("worker " + (await (await env.ASSETS.fetch(new URL("/page", request.url))).text())) };`,
      "public/index.html": "home",
      "public/page.html": "page",
      "public/data": "no extension",
      "public/_headers": "/*\n  X-A: 1\nwords\n",
    });
    await symlink("/etc/passwd", join(cwd, "public/link"));
    await run(["login", "--url", server.ready.url, "--token", server.ready.token!]);
  });
  after(() => scope.close());

  test("deploys a site without code, and does not upload symbolic links", async () => {
    const { json, stderr } = await run(["deploy", "--json"]);
    assert.deepEqual(json.assets, { files: 3, size: 20 });
    assert.equal(stderr.includes("root:"), false);
    assert.deepEqual(await get("/"), [200, "home", "text/html; charset=utf-8"]);
    assert.deepEqual(await get("/data"), [200, "no extension", null]);
    assert.equal((await get("/link"))[0], 404);
    const again = await run(["deploy"]);
    assert.match(again.stdout, /assets +3 files, 20 B/);
    assert.match(again.stderr, /_headers:3: the line is ignored/);
    assert.match(again.stderr, /link is a symbolic link and is not uploaded/);
  });

  test("adds a worker in front of the same files", async () => {
    await writeFile(
      join(cwd, "wrangler.json"),
      JSON.stringify({ ...CONFIG, main: "worker.js", assets: { directory: "public", binding: "ASSETS" } }),
    );
    assert.match((await run(["deploy"])).stdout, /env\.ASSETS +static assets/);
    assert.deepEqual((await get("/page")).slice(0, 2), [200, "page"]);
    assert.deepEqual((await get("/elsewhere")).slice(0, 2), [200, "worker page"]);
  });

  test("assets survive when the server is killed", async () => {
    server.child.kill("SIGKILL");
    await server.exited;
    server = await spawnServe(scope, { dataDirectory: server.ready.dataDirectory });
    assert.deepEqual((await get("/page")).slice(0, 2), [200, "page"]);
    assert.deepEqual((await get("/elsewhere")).slice(0, 2), [200, "worker page"]);
  });
});
