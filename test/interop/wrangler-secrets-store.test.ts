import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { all, failsWith, sdk } from "./cloudflare-sdk.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const SECRET_VALUE = "hunter2-and-more";
const WORKER = `export default { fetch: async (request, env) => new Response(await env.KEY.get().catch(String)) };`;

interface NamedResource {
  id: string;
  name: string;
}

describe("wrangler secrets-store", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  let store = "";
  let secret = "";
  const outputs: string[] = [];
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler({ "index.js": WORKER });
  });
  after(scope.close);

  const run = async (...args: string[]) => {
    const { text } = await wrangler.run(["secrets-store", ...args, "--remote"]);
    outputs.push(text);
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
    const [createdStore] = await platform.ask<NamedResource[]>(`/accounts/${platform.account}/secrets_store/stores`);
    store = createdStore!.id;
    assert.match(await run("store", "list"), /shared/);
    assert.match(
      await run("secret", "create", store, "--name", "api-key", "--value", SECRET_VALUE, "--scopes", "workers"),
      /Created secret!/,
    );
    assert.match(await run("secret", "list", store), /api-key/);
    const [listedSecret] = await platform.ask<NamedResource[]>(
      `/accounts/${platform.account}/secrets_store/stores/${store}/secrets`,
    );
    secret = listedSecret!.id;
    assert.match(await run("secret", "get", store, "--secret-id", secret), /api-key/);
  });

  it("a deployed worker reads the value; a deploy fails if the secret does not exist", async () => {
    await wrangler.write("wrangler.jsonc", config("other"));
    const { text, code } = await wrangler.attempt(["deploy"]);
    assert.notEqual(code, 0);
    assert.match(text, /references\s+secret\s+'other'/);
    await wrangler.write("wrangler.jsonc", config("api-key"));
    await wrangler.run(["deploy"]);
    assert.equal((await platform.visit("reader")).text, SECRET_VALUE);
    const { bindings } = await platform.ask<{ bindings: unknown }>(
      `/accounts/${platform.account}/workers/scripts/reader/settings`,
    );
    assert.deepEqual(bindings, [
      { name: "KEY", type: "secrets_store_secret", store_id: store, secret_name: "api-key" },
    ]);
  });

  it("a new value takes effect without a deploy; get() throws if the secret was deleted", async () => {
    await run("secret", "update", store, "--secret-id", secret, "--value", `${SECRET_VALUE}-2`);
    assert.equal((await platform.visit("reader")).text, `${SECRET_VALUE}-2`);
    await run("secret", "duplicate", store, "--secret-id", secret, "--name", "copy", "--scopes", "workers");
    await run("secret", "delete", store, "--secret-id", secret);
    assert.equal((await platform.visit("reader")).text, 'Error: Secret "api-key" not found');
    assert.doesNotMatch(outputs.join("\n"), /hunter2/);
  });

  it("the SDK lists, edits and deletes stores and secrets", async () => {
    const account_id = platform.account;
    const { secretsStore } = sdk(platform, { apiToken: platform.token });
    assert.deepEqual(
      (await all<NamedResource>(secretsStore.stores.list({ account_id }))).map(({ name }) => name),
      ["shared"],
    );
    const remainingSecrets = await all<NamedResource>(secretsStore.stores.secrets.list(store, { account_id }));
    assert.deepEqual(
      remainingSecrets.map(({ name }) => name),
      ["copy"],
    );
    const editedSecret = await secretsStore.stores.secrets.edit(remainingSecrets[0]!.id, {
      account_id,
      store_id: store,
      comment: "c",
    });
    assert.equal(editedSecret.comment, "c");
    assert.equal((await secretsStore.quota.get({ account_id })).secrets.usage, 1);
    await assert.rejects(secretsStore.stores.delete(store, { account_id }), failsWith(409, 1003));
    await secretsStore.stores.delete(store, { account_id, force: true });
    await assert.rejects(secretsStore.stores.get(store, { account_id }), failsWith(404, 1001));
  });
});
