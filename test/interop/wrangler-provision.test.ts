import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { folderWith, runCli } from "../../src/cli/cli.testing.ts";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const WORKER = `
export default {
  async fetch(request, env) {
    await env.NOTES.put("n", String(Number(await env.NOTES.get("n")) + 1));
    await env.MY_FILES.put("f", "content");
    await env.DB.exec("CREATE TABLE IF NOT EXISTS t (a)");
    await env.JOBS.send({});
    return new Response(await env.NOTES.get("n"));
  },
};
`;
const CONFIG = {
  name: "letters",
  main: "worker.js",
  compatibility_date: "2026-10-01",
  kv_namespaces: [{ binding: "NOTES" }],
  r2_buckets: [{ binding: "MY_FILES" }, { binding: "NAMED", bucket_name: "named-files" }],
  d1_databases: [{ binding: "DB", database_name: "mail" }, { binding: "OTHER" }],
  queues: { producers: [{ binding: "JOBS" }] },
};

describe("automatic provisioning of resources without an id", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler({ "wrangler.jsonc": JSON.stringify(CONFIG), "worker.js": WORKER });
  });
  after(scope.close);

  const settings = async (worker: string) => {
    const { bindings } = await platform.ask<{ bindings: Record<string, string>[] }>(
      `/accounts/${platform.account}/workers/scripts/${worker}/settings`,
    );
    return bindings.toSorted((one, other) => (one["name"]! < other["name"]! ? -1 : 1));
  };

  it("wrangler deploy creates the namespace, buckets, databases and queue, and the worker uses them", async () => {
    const { text } = await wrangler.run(["deploy"]);
    for (const name of ["letters-notes", "letters-my-files", "named-files", "mail", "letters-other", "letters-jobs"])
      assert.ok(text.includes(`"${name}"`), `${name} in ${text}`);
    assert.equal((await platform.visit("letters")).text, "1");
  });

  it("the next wrangler deploy reuses them", async () => {
    const before = await settings("letters");
    const { text } = await wrangler.run(["deploy"]);
    assert.doesNotMatch(text, /Creating new/);
    assert.deepEqual(await settings("letters"), before);
    assert.equal((await platform.visit("letters")).text, "2");
  });

  it("reelpost deploy creates them for another worker, and later deploys with reelpost and wrangler reuse them", async () => {
    const config = JSON.stringify({
      ...CONFIG,
      name: "third",
      d1_databases: [{ binding: "DB" }, { binding: "OTHER" }],
    });
    const cwd = await folderWith(scope, { "wrangler.jsonc": config, "worker.js": WORKER });
    const env = { API_BASE_URL: platform.api, API_TOKEN: platform.token, ACCOUNT_ID: platform.account };
    const first = await runCli(["deploy", "--json"], { cwd, env });
    assert.equal(first.code, 0, first.stdout + first.stderr);
    assert.deepEqual(
      first.json.created.map(({ name }: { name: string }) => name),
      ["third-notes", "third-my-files", "third-db", "third-other", "third-jobs"],
    );
    const boundResources = await settings("third");
    const second = await runCli(["deploy", "--json"], { cwd, env });
    assert.deepEqual([second.code, second.json.created], [0, undefined]);
    assert.equal((await platform.visit("third")).text, "1");
    await wrangler.write("wrangler.jsonc", config);
    await wrangler.run(["deploy"]);
    assert.deepEqual(await settings("third"), boundResources);
    assert.equal((await platform.visit("third")).text, "2");
  });

  it("a deploy of another worker creates separate resources", async () => {
    await wrangler.write(
      "wrangler.jsonc",
      JSON.stringify({ ...CONFIG, name: "other", d1_databases: [], r2_buckets: [] }),
    );
    await wrangler.run(["deploy"]);
    const titles = (
      await platform.ask<{ title: string }[]>(`/accounts/${platform.account}/storage/kv/namespaces?order=title`)
    ).map(({ title }) => title);
    assert.deepEqual(titles, ["letters-notes", "other-notes", "third-notes"]);
  });
});
