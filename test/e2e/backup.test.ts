import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { programEntry } from "../support/program.ts";
import { spawnServe, temporaryFolder } from "../support/serve.ts";
import { sendHttpRequest, createApi, TOKEN } from "./serve-client.ts";

const WORKER = `
import { DurableObject } from "cloudflare:workers";
export class Counter extends DurableObject {
  async add() { const n = ((await this.ctx.storage.get("n")) ?? 0) + 1; await this.ctx.storage.put("n", n); return n; }
}
export default {
  async fetch(request, env) {
    return Response.json({ secret: env.SECRET, count: await env.COUNTER.getByName("a").add() });
  },
};`;
const HOST = "vault.main.localhost";

interface CliResult {
  code: number;
  // oxlint-disable-next-line no-explicit-any
  body: any;
}

const run = (...args: string[]) =>
  new Promise<CliResult>((resolve) => {
    execFile(process.execPath, [programEntry, ...args, "--json"], (err, stdout) =>
      resolve({ code: err === null ? 0 : Number(err.code), body: JSON.parse(stdout) as unknown }),
    );
  });

test("a restored server can decrypt its secrets, and its Durable Objects keep their state", async (t) => {
  const [data, folder, restored] = [
    await temporaryFolder(t),
    join(await temporaryFolder(t), "backups"),
    join(await temporaryFolder(t), "restored"),
  ];
  const server = await spawnServe(t, { dataDirectory: data, env: { REELPOST_API_TOKEN: TOKEN } });
  const api = createApi(server.ready, TOKEN);
  await api.deploy("vault", WORKER, {
    bindings: [{ type: "durable_object_namespace", name: "COUNTER", class_name: "Counter" }],
    migrations: { new_tag: "v1", steps: [{ new_sqlite_classes: ["Counter"] }] },
  });
  await api.ok("put", "workers/scripts/vault/secrets", {
    body: { name: "SECRET", text: "s3cret", type: "secret_text" },
  });
  const visit = async ({ url }: { url: string }) =>
    JSON.parse((await sendHttpRequest({ url }, "/", { host: HOST })).body) as unknown;
  assert.deepEqual(await visit(server.ready), { secret: "s3cret", count: 1 });

  const keys = await run("backup", "keygen");
  const identity = join(await temporaryFolder(t), "key.txt");
  writeFileSync(identity, keys.body.identity);
  const created = await run("backup", "create", folder, "--data-dir", data, "--recipient", keys.body.recipient);
  assert.equal(created.body.secrets_key, "included", JSON.stringify(created.body));
  server.child.kill("SIGKILL");
  await server.exited;

  const listed = await run("backup", "list", folder);
  assert.deepEqual(
    listed.body.backups.map(({ id, encrypted }: { id: string; encrypted: boolean }) => [id, encrypted]),
    [[created.body.id, true]],
  );
  const refused = await run("backup", "restore", folder, "--data-dir", restored);
  assert.deepEqual([refused.code, refused.body.error.code], [1, "E_BACKUP_IDENTITY_NEEDED"]);
  const done = await run("backup", "restore", folder, "--data-dir", restored, "--identity", identity);
  assert.equal(done.body.secrets_key, "backup", JSON.stringify(done.body));
  assert.equal((await run("check", "--data-dir", restored)).body.ok, true);

  const again = await spawnServe(t, { dataDirectory: restored, env: { REELPOST_API_TOKEN: TOKEN } });
  assert.deepEqual(await visit(again.ready), { secret: "s3cret", count: 2 });
});

test("a server does not start if its restore is incomplete", async (t) => {
  const data = await temporaryFolder(t);
  mkdirSync(data, { recursive: true });
  writeFileSync(join(data, "restore-incomplete.json"), "{}");
  await assert.rejects(spawnServe(t, { dataDirectory: data }), /restore .* was interrupted/);
});
