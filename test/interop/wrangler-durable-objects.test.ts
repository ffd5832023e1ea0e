import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const WORKER = (className: string) => `
import { DurableObject } from "cloudflare:workers";
export class ${className} extends DurableObject {
  add() {
    const n = (this.ctx.storage.kv.get("n") ?? 0) + 1;
    this.ctx.storage.kv.put("n", n);
    return n;
  }
}
export default {
  async fetch(request, env) {
    return Response.json(await env.COUNTER.getByName("a").add());
  },
};
`;
const WORKER_WITHOUT_OBJECTS = `export default { fetch: () => new Response("none") };`;

interface Namespace {
  id: string;
  name: string;
  script: string;
  class: string;
  use_sqlite: boolean;
}

describe("wrangler deploy with Durable Objects", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  const migrations = [
    { tag: "v1", new_sqlite_classes: ["Counter"] },
    { tag: "v2", renamed_classes: [{ from: "Counter", to: "Tally" }] },
    { tag: "v3", deleted_classes: ["Tally"] },
  ];
  const config = (count: number, className: string | undefined, more: object = {}) =>
    JSON.stringify({
      name: "counters",
      main: "index.js",
      compatibility_date: "2026-10-01",
      migrations: migrations.slice(0, count),
      durable_objects: { bindings: className === undefined ? [] : [{ name: "COUNTER", class_name: className }] },
      ...more,
    });
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler({ "wrangler.jsonc": config(1, "Counter"), "index.js": WORKER("Counter") });
  });
  after(scope.close);

  const namespaces = () =>
    platform.ask<Namespace[]>(`/accounts/${platform.account}/workers/durable_objects/namespaces?per_page=1000`);
  const count = async (worker = "counters") => JSON.parse((await platform.visit(worker)).text) as number;
  async function writeProject(file: string, source: string) {
    await wrangler.write("wrangler.jsonc", file);
    await wrangler.write("index.js", source);
  }
  async function assertDeployFails(message: RegExp) {
    const { code, text } = await wrangler.attempt(["deploy"]);
    assert.notEqual(code, 0, text);
    assert.match(text, message);
  }
  let id = "";

  it("a deploy fails if a class is not exported or has no migration", async () => {
    await writeProject(config(1, "Counter"), WORKER_WITHOUT_OBJECTS);
    // wrangler itself reports this error; API tests cover the server's message.
    await assertDeployFails(/not exported in your entrypoint file/);
    await writeProject(config(0, "Counter"), WORKER("Counter"));
    await assertDeployFails(/Cannot create binding for class 'Counter' because it is not currently configured/);
    assert.deepEqual(await namespaces(), []);
  });

  it("the first deploy creates the namespace", async () => {
    await writeProject(config(1, "Counter"), WORKER("Counter"));
    const { text } = await wrangler.run(["deploy"]);
    assert.match(text, /env\.COUNTER \(Counter\)\s+Durable Object/);
    const [namespace] = await namespaces();
    assert.deepEqual(namespace, {
      id: namespace!.id,
      name: "counters_Counter",
      script: "counters",
      class: "Counter",
      use_sqlite: true,
    });
    ({ id } = namespace!);
    assert.deepEqual([await count(), await count()], [1, 2]);
  });

  it("a second deploy does not repeat the migration and keeps the objects", async () => {
    await wrangler.run(["deploy"]);
    assert.equal(await count(), 3);
  });

  it("setting a secret creates a new version with the same objects", async () => {
    await wrangler.run(["secret", "put", "KEY"], { input: "secret" });
    assert.equal(await count(), 4);
  });

  it("another worker binds the class with script_name", async () => {
    const caller = await platform.wrangler({
      "wrangler.jsonc": JSON.stringify({
        name: "caller",
        main: "index.js",
        compatibility_date: "2026-10-01",
        durable_objects: { bindings: [{ name: "COUNTER", class_name: "Counter", script_name: "counters" }] },
      }),
      "index.js": `export default { fetch: async (request, env) => Response.json(await env.COUNTER.getByName("a").add()) };`,
    });
    await caller.run(["deploy"]);
    assert.equal(await count("caller"), 5);
    assert.equal(await count(), 6);
  });

  it("a renamed class keeps its objects, including for the other worker", async () => {
    await writeProject(config(2, "Tally"), WORKER("Tally"));
    await wrangler.run(["deploy"]);
    assert.deepEqual(
      (await namespaces()).map((each) => [each.id, each.class]),
      [[id, "Tally"]],
    );
    assert.deepEqual([await count(), await count("caller")], [7, 8]);
  });

  it("a version upload with a pending migration is rejected", async () => {
    await writeProject(config(3, undefined), WORKER_WITHOUT_OBJECTS);
    const { code, text } = await wrangler.attempt(["versions", "upload"]);
    assert.notEqual(code, 0);
    assert.match(text, /migration/);
  });

  it("deleting a class deletes its files", async () => {
    const folder = join(platform.server.ready.dataDirectory, "durable-objects");
    const [owner] = readdirSync(folder).filter((name) => /^[0-9a-f]{32}$/.test(name));
    assert.ok(existsSync(join(folder, owner!, id)));
    await wrangler.run(["deploy"]);
    assert.deepEqual(await namespaces(), []);
    assert.ok(!existsSync(join(folder, owner!, id)));
    assert.equal((await platform.visit("counters")).text, "none");
  });

  it("deleting the worker deletes its objects", async () => {
    migrations.push({ tag: "v4", new_sqlite_classes: ["Counter"] });
    await writeProject(config(4, "Counter"), WORKER("Counter"));
    await wrangler.run(["deploy"]);
    assert.equal(await count(), 1);
    await wrangler.run(["delete", "--force"]);
    assert.deepEqual(await namespaces(), []);
    const folder = join(platform.server.ready.dataDirectory, "durable-objects");
    assert.deepEqual(readdirSync(folder), []);
  });
});
