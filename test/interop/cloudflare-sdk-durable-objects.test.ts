import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { all, failsWith, sdk, toFile } from "./cloudflare-sdk.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const CODE = `
import { DurableObject } from "cloudflare:workers";
export class Counter extends DurableObject {
  add() { this.ctx.storage.kv.put("n", 1); return "added"; }
}
export default { async fetch(request, env) { return new Response(await env.COUNTER.getByName(request.url).add()); } };
`;

describe("cloudflare SDK: Durable Objects", () => {
  const scope = createScope();
  let platform: Platform;
  let account_id: string;
  let client: ReturnType<typeof sdk>;
  before(async () => {
    platform = await startPlatform(scope);
    account_id = platform.account;
    client = sdk(platform, { apiToken: platform.token });
  });
  after(scope.close);

  const upload = async (metadata: object) =>
    client.workers.scripts.update("counters", {
      account_id,
      metadata: { main_module: "index.js", compatibility_date: "2026-10-01", ...metadata },
      files: [await toFile(Buffer.from(CODE), "index.js", { type: "application/javascript+module" })],
    });
  const COUNTER = { type: "durable_object_namespace", name: "COUNTER", class_name: "Counter" };

  it("an upload with migrations creates a namespace", async () => {
    await upload({ bindings: [COUNTER], migrations: { new_tag: "v1", new_sqlite_classes: ["Counter"] } });
    await client.workers.scripts.subdomain.create("counters", { account_id, enabled: true });
    const [namespace] = await all<{ id: string; class: string; script: string; use_sqlite: boolean }>(
      client.durableObjects.namespaces.list({ account_id }),
    );
    assert.deepEqual([namespace?.class, namespace?.script, namespace?.use_sqlite], ["Counter", "counters", true]);
  });

  it("the objects of a namespace are listed page by page", async () => {
    for (const path of ["/1", "/2", "/3"]) assert.equal((await platform.visit("counters", path)).text, "added");
    const [{ id }] = (await all(client.durableObjects.namespaces.list({ account_id }))) as [{ id: string }];
    const objects = await all<{ id: string; hasStoredData: boolean }>(
      client.durableObjects.namespaces.objects.list(id, { account_id, limit: 2 }),
    );
    assert.equal(objects.length, 3);
    assert.ok(objects.every((object) => /^[0-9a-f]{64}$/.test(object.id) && object.hasStoredData));
    await assert.rejects(
      all(client.durableObjects.namespaces.objects.list("0".repeat(32), { account_id })),
      failsWith(404, 10066),
    );
  });

  it("a migration with a wrong tag is rejected with the published status and code", async () => {
    await assert.rejects(
      upload({ bindings: [COUNTER], migrations: { old_tag: "v0", new_tag: "v2", new_classes: ["B"] } }),
      failsWith(412, 10079),
    );
  });
});
