import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { sendHttpRequest, createApi, formOf, sendMail, TOKEN } from "../e2e/serve-client.ts";
import { spawnServe, temporaryFolder } from "../support/serve.ts";
import { mountSmallDisk } from "../support/small-disk.ts";

const WORKER = (word: string) => `export default {
  async fetch(request, env) {
    if (request.method !== "PUT") return new Response("${word}");
    try {
      await env.NOTES.put("note", await request.text());
      return new Response("kept");
    } catch (err) {
      return new Response(err.message, { status: 500 });
    }
  },
  async email(message) { await message.forward("ada@example.net"); },
};`;
const large = `\n//${"x".repeat(200_000)}`;

test("on a full disk, deploys, KV writes and mail are rejected with that reason, live workers respond, and the next deploy works once there is space", async (t) => {
  const small = mountSmallDisk(t, 24);
  if (small === undefined)
    t.diagnostic("cannot mount a small disk here: the test limits the size of each file instead");
  const dataDirectory = small?.folder ?? (await temporaryFolder(t));
  const server = await spawnServe(t, { dataDirectory, env: { REELPOST_API_TOKEN: TOKEN } });
  const api = createApi(server.ready, TOKEN);
  const { id: namespace } = await api.ok("post", "storage/kv/namespaces", { body: { title: "notes" } });
  const metadata = { bindings: [{ type: "kv_namespace", name: "NOTES", namespace_id: namespace }] };
  const { id: address } = await api.ok("post", "email/routing/addresses", { body: { email: "ada@example.net" } });
  await api.ok("patch", `email/routing/addresses/${address}`, { body: { status: "verified" } });
  await api.deploy("live", WORKER("before"), metadata);
  const here = (options: { method?: string; body?: string } = {}) =>
    sendHttpRequest(server.ready, "/", { host: "live.main.localhost", ...options });
  assert.equal((await here({ method: "PUT", body: "a note" })).body, "kept");

  const disk = small ?? fileLimit(server.child.pid!);
  disk.fill();
  const full = small !== undefined ? [507] : [507, 500];
  const failed: number[] = [];
  for (let i = 0; i < 3; i++) {
    const { status, body } = await api.call("put", "workers/scripts/live", {
      body: formOf(WORKER("during") + large, metadata),
    });
    failed.push(status);
    assert.deepEqual([body.success, body.result, typeof body.errors[0].message], [false, null, "string"]);
    assert.equal(JSON.stringify(body).includes(dataDirectory), false, "the response discloses no path");
  }
  assert.ok(
    failed.every((status) => full.includes(status)),
    failed.join(),
  );
  assert.ok(
    full.includes(
      (await api.call("put", "workers/scripts/fresh", { body: formOf(WORKER("during") + large, metadata) })).status,
    ),
  );
  // A row fits until the database log needs another page, which happens sooner or later.
  const secrets: number[] = [];
  for (let i = 0; i < 200 && secrets.at(-1) !== 507 && secrets.at(-1) !== 500; i++)
    secrets.push(
      (
        await api.call("put", "workers/scripts/live/secrets", {
          body: { name: "KEY", text: "y".repeat(5000), type: "secret_text" },
        })
      ).status,
    );
  assert.ok(full.includes(secrets.at(-1)!), secrets.join());
  assert.equal(
    (await api.call("put", `storage/kv/namespaces/${namespace}/values/big`, { body: "z".repeat(2_000_000) })).status,
    secrets.at(-1),
  );
  assert.equal((await here({ method: "PUT", body: "x".repeat(2_000_000) })).status, 500);
  const { code } = await sendMail(server.ready, "live@main.localhost");
  if (small !== undefined)
    assert.ok(code >= 400 && code < 500, `${code}: the sender keeps a message that could not be stored`);
  // Reads still work.
  assert.equal((await here()).body, "before");
  assert.equal((await api.call("get", `storage/kv/namespaces/${namespace}/values/note`)).body, "a note");
  assert.deepEqual(await api.refused("get", "workers/scripts/fresh/settings"), [404, 10007]);
  assert.equal((await sendHttpRequest(server.ready, "/readyz")).status, 200);

  disk.free();
  await api.ok("put", "workers/scripts/live", { body: formOf(WORKER("after") + large, metadata) });
  assert.equal((await here()).body, "after");
  assert.equal((await here({ method: "PUT", body: "another" })).body, "kept");
  assert.equal((await sendMail(server.ready, "live@main.localhost")).code, 250);
  assert.deepEqual(
    (await api.ok("get", "workers/scripts")).map(({ id }: { id: string }) => id),
    ["live"],
  );
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  assert.deepEqual(readdirSync(join(dataDirectory, "objects", ".tmp")), []);
  const again = await spawnServe(t, { dataDirectory, env: { REELPOST_API_TOKEN: TOKEN } });
  assert.equal((await sendHttpRequest(again.ready, "/", { host: "live.main.localhost" })).body, "after");
});

/** Limits the file size of a process to a few bytes, below the size of every database. */
function fileLimit(pid: number) {
  const limit = (soft: string) =>
    assert.equal(spawnSync("prlimit", ["--pid", String(pid), `--fsize=${soft}:`]).status, 0);
  return { fill: () => limit("4096"), free: () => limit("unlimited") };
}
