import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { all, failsWith, sdk } from "./cloudflare-sdk.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const VALUE = "hunter2-and-more";
const WORKER = `export default { fetch: async (request, env) => new Response(await env.KEY.get().catch(String)) };`;

interface Named {
  id: string;
  name: string;
}

describe("wrangler secrets-store", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  let store = "";
  let secret = "";
  const texts: string[] = [];
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler({ "index.js": WORKER });
  });
  after(scope.close);

  const run = async (...args: string[]) => {
    const { text } = await wrangler.run(["secrets-store", ...args, "--remote"]);
    texts.push(text);
    return text;
  };
  const config = (secret_name: string) =>
    JSON.stringify({
      name: "reader",
      main: "index.js",
      compatibility_date: "2026-10-01",
      secrets_store_secrets: [{ binding: "KEY", store_id: store, secret_name }],
    });

  it("creates and lists stores and secrets", async () => {
    assert.match(await run("store", "create", "shared"), /Created store! \(Name: shared, ID: [0-9a-f]{32}\)/);
    const [made] = await platform.ask<Named[]>(`/accounts/${platform.account}/secrets_store/stores`);
    store = made!.id;
    assert.match(await run("store", "list"), /shared/);
    assert.match(
      await run("secret", "create", store, "--name", "api-key", "--value", VALUE, "--scopes", "workers"),
      /Created secret!/,
    );
    assert.match(await run("secret", "list", store), /api-key/);
    const [listed] = await platform.ask<Named[]>(`/accounts/${platform.account}/secrets_store/stores/${store}/secrets`);
    secret = listed!.id;
    assert.match(await run("secret", "get", store, "--secret-id", secret), /api-key/);
  });

  it("a deployed worker reads the value; a secret that does not exist prevents a deploy", async () => {
    await wrangler.write("wrangler.jsonc", config("other"));
    const { text, code } = await wrangler.attempt(["deploy"]);
    assert.notEqual(code, 0);
    assert.match(text, /references\s+secret\s+'other'/);
    await wrangler.write("wrangler.jsonc", config("api-key"));
    await wrangler.run(["deploy"]);
    assert.equal((await platform.visit("reader")).text, VALUE);
    const { bindings } = await platform.ask<{ bindings: unknown }>(
      `/accounts/${platform.account}/workers/scripts/reader/settings`,
    );
    assert.deepEqual(bindings, [
      { name: "KEY", type: "secrets_store_secret", store_id: store, secret_name: "api-key" },
    ]);
  });

  it("a changed value takes effect without a deploy; a deleted secret is an error of get()", async () => {
    await run("secret", "update", store, "--secret-id", secret, "--value", `${VALUE}-2`);
    assert.equal((await platform.visit("reader")).text, `${VALUE}-2`);
    await run("secret", "duplicate", store, "--secret-id", secret, "--name", "copy", "--scopes", "workers");
    await run("secret", "delete", store, "--secret-id", secret);
    assert.equal((await platform.visit("reader")).text, 'Error: Secret "api-key" not found');
    assert.doesNotMatch(texts.join("\n"), /hunter2/);
  });

  it("the SDK has the same operations", async () => {
    const account_id = platform.account;
    const { secretsStore } = sdk(platform, { apiToken: platform.token });
    assert.deepEqual(
      (await all<Named>(secretsStore.stores.list({ account_id }))).map(({ name }) => name),
      ["shared"],
    );
    const copies = await all<Named>(secretsStore.stores.secrets.list(store, { account_id }));
    assert.deepEqual(
      copies.map(({ name }) => name),
      ["copy"],
    );
    const edited = await secretsStore.stores.secrets.edit(copies[0]!.id, { account_id, store_id: store, comment: "c" });
    assert.equal(edited.comment, "c");
    assert.equal((await secretsStore.quota.get({ account_id })).secrets.usage, 1);
    await assert.rejects(secretsStore.stores.delete(store, { account_id }), failsWith(409, 1003));
    await secretsStore.stores.delete(store, { account_id, force: true });
    await assert.rejects(secretsStore.stores.get(store, { account_id }), failsWith(404, 1001));
  });
});
