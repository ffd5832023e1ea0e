import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { failsWith, sdk, toFile } from "./cloudflare-sdk.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

describe("cloudflare SDK: tails", () => {
  const scope = createScope();
  let platform: Platform;
  let client: ReturnType<typeof sdk>;
  const script_name = "shop";
  const of = () => ({ account_id: platform.account });
  before(async () => {
    platform = await startPlatform(scope);
    client = sdk(platform, { apiToken: platform.token });
    const worker = await toFile(
      Buffer.from(`export default { fetch(request) { console.log("visited"); return new Response("fine"); } };`),
      "worker.js",
      { type: "application/javascript+module" },
    );
    await client.workers.scripts.update(script_name, {
      ...of(),
      metadata: { main_module: "worker.js", compatibility_date: "2026-10-01" },
      files: [worker],
    });
    await client.workers.scripts.subdomain.create(script_name, { ...of(), enabled: true });
  });
  after(scope.close);

  it("a tail is created, read over its URL by any WebSocket client, shown, and ends when it is deleted", async () => {
    const { tail } = client.workers.scripts;
    const { id, url, expires_at } = await tail.create(script_name, of());
    assert.ok(new Date(expires_at).getTime() > Date.now());
    const socket = new WebSocket(url, "trace-v1");
    await once(socket, "open");
    assert.equal(socket.protocol, "trace-v1");
    const message = once(socket, "message");
    await platform.visit(script_name, "/a");
    const [{ data }] = (await message) as [{ data: string }];
    const { outcome, logs, event } = JSON.parse(data) as {
      outcome: string;
      logs: { message: unknown[] }[];
      event: { request: { method: string } };
    };
    assert.deepEqual([outcome, logs.map(({ message }) => message), event.request.method], ["ok", [["visited"]], "GET"]);
    assert.equal((await tail.get(script_name, of())).id, id);

    const closed = once(socket, "close");
    await tail.delete(id, { ...of(), script_name });
    const [{ code }] = (await closed) as [CloseEvent];
    assert.equal(code, 1000);
    await assert.rejects(
      tail.delete(id, { ...of(), script_name }),
      (error: { status: number }) => error.status === 404,
    );
  });

  it("a missing worker has no tails", async () => {
    await assert.rejects(client.workers.scripts.tail.create("nobody", of()), failsWith(404, 10007));
  });
});
