import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startOpenAiServer, type OpenAiServer } from "../../src/workers/ai/gateway/ai-gateway.testing.ts";
import { all, failsWith, sdk } from "./cloudflare-sdk.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const WORKER = `export default {
  async fetch(request, env) {
    const { response } = await env.AI.run("@cf/llama", { prompt: "hi" }, { gateway: { id: "my-gateway", skipCache: true } });
    return Response.json([response, await env.AI.gateway("my-gateway").getUrl("openai"), env.AI.aiGatewayLogId]);
  },
};`;

describe("cloudflare SDK: AI Gateway", () => {
  const scope = createScope();
  let upstream: OpenAiServer;
  let platform: Platform;
  let account_id: string;
  let client: ReturnType<typeof sdk>;
  before(async () => {
    upstream = await startOpenAiServer({ after: (stop) => scope.after(async () => void (await stop())) });
    platform = await startPlatform(scope, {
      REELPOST_WORKERS_AI_URL: upstream.url,
      REELPOST_WORKERS_AI_MODELS: "@cf/llama=llama",
      REELPOST_WORKERS_AI_PROVIDERS: `openai=${upstream.url}`,
      REELPOST_WORKERS_AI_PROVIDER_KEYS: "openai=sk-of-the-operator",
      REELPOST_HTTP_PUBLIC_URL: "https://api.example.com",
    });
    account_id = platform.account;
    client = sdk(platform, { apiToken: platform.token });
  });
  after(scope.close);

  it("creates, lists, gets and updates a gateway", async () => {
    const settings = {
      account_id,
      cache_invalidate_on_update: true,
      cache_ttl: 0,
      collect_logs: true,
      rate_limiting_interval: 0,
      rate_limiting_limit: 0,
    };
    const made = await client.aiGateway.create({ ...settings, id: "my-gateway" });
    assert.deepEqual([made.id, made.authentication], ["my-gateway", true]);
    assert.deepEqual(await all(client.aiGateway.list({ account_id })), [made]);
    const updated = await client.aiGateway.update("my-gateway", { ...settings, cache_ttl: 300 });
    assert.deepEqual(updated, await client.aiGateway.get("my-gateway", { account_id }));
    assert.equal(
      await client.aiGateway.urls.get("openai", { account_id, gateway_id: "my-gateway" }),
      `https://api.example.com/v1/${account_id}/my-gateway/openai`,
    );
    await assert.rejects(client.aiGateway.get("absent", { account_id }), failsWith(404, 7002));
  });

  it("the HTTP endpoint calls a provider and caches its response", async () => {
    const complete = async (token: string) => {
      const response = await fetch(`${platform.url}/v1/${account_id}/my-gateway/openai/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", "cf-aig-authorization": `Bearer ${token}` },
        body: JSON.stringify({ model: "gpt", messages: [{ role: "user", content: "hi" }] }),
      });
      return [response.status, response.headers.get("cf-aig-cache-status")];
    };
    assert.deepEqual(await complete(platform.token), [200, "MISS"]);
    assert.deepEqual(await complete(platform.token), [200, "HIT"]);
    assert.equal(upstream.calls[0]!.headers.authorization, "Bearer sk-of-the-operator");
    const groups = await all<{ id: string; name: string }>(client.user.tokens.permissionGroups.list());
    for (const [name, status] of [
      ["AI Gateway Run", 200],
      ["AI Gateway Write", 401],
    ] as const) {
      const { value } = await client.user.tokens.create({
        name,
        policies: [
          {
            effect: "allow",
            resources: { [`com.cloudflare.api.account.${account_id}`]: "*" },
            permission_groups: [{ id: groups.find((group) => group.name === name)!.id }],
          },
        ],
      });
      assert.equal((await complete(value))[0], status, name);
      const limited = sdk(platform, { apiToken: value });
      if (name === "AI Gateway Write") await limited.aiGateway.get("my-gateway", { account_id });
      else await assert.rejects(limited.aiGateway.get("my-gateway", { account_id }), /403/);
    }
  });

  it("a deployed worker uses the gateway", async () => {
    const form = new FormData();
    const metadata = {
      main_module: "index.js",
      compatibility_date: "2026-10-01",
      bindings: [{ type: "ai", name: "AI" }],
    };
    form.set("metadata", new Blob([JSON.stringify(metadata)], { type: "application/json" }));
    form.set("index.js", new Blob([WORKER], { type: "application/javascript+module" }), "index.js");
    await platform.ask(`/accounts/${account_id}/workers/scripts/ai`, { method: "PUT", body: form });
    await platform.ask(`/accounts/${account_id}/workers/scripts/ai/subdomain`, {
      method: "POST",
      body: '{"enabled":true}',
    });
    const [text, url, logId] = JSON.parse((await platform.visit("ai")).text) as [string, string, string];
    assert.match(text, /^answer \d$/);
    assert.equal(url, `https://api.example.com/v1/${account_id}/my-gateway/openai`);
    const gateway_id = "my-gateway";
    const log = await client.aiGateway.logs.get(logId, { account_id, gateway_id });
    assert.deepEqual([log.provider, log.path, log.success], ["workers-ai", "@cf/llama", true]);
  });

  it("lists, reads, edits and deletes logs, and deletes the gateway", async () => {
    const gateway_id = "my-gateway";
    const logs = await all<{ id: string; cached: boolean }>(client.aiGateway.logs.list(gateway_id, { account_id }));
    assert.equal(logs.length, 4);
    const [log] = logs;
    await client.aiGateway.logs.edit(log!.id, { account_id, gateway_id, feedback: 1 });
    assert.match(JSON.stringify(await client.aiGateway.logs.request(log!.id, { account_id, gateway_id })), /"hi"/);
    assert.match(JSON.stringify(await client.aiGateway.logs.response(log!.id, { account_id, gateway_id })), /answer/);
    await client.aiGateway.logs.delete(gateway_id, { account_id });
    assert.deepEqual(await all(client.aiGateway.logs.list(gateway_id, { account_id })), []);
    await client.aiGateway.delete(gateway_id, { account_id });
    assert.deepEqual(await all(client.aiGateway.list({ account_id })), []);
  });

  it("an account with a gateway cannot be deleted", async () => {
    const { id: other } = await client.accounts.create({ name: "Other", type: "standard" });
    await client.aiGateway.create({
      account_id: other,
      id: "g",
      cache_invalidate_on_update: false,
      cache_ttl: 0,
      collect_logs: false,
      rate_limiting_interval: 0,
      rate_limiting_limit: 0,
    });
    await assert.rejects(client.accounts.delete({ account_id: other }), /1 AI gateway/);
    await client.aiGateway.delete("g", { account_id: other });
    await client.accounts.delete({ account_id: other });
  });
});
