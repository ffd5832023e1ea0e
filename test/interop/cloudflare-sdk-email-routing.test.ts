import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { all, failsWith, sdk } from "./cloudflare-sdk.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

interface Rule {
  id: string;
  name: string;
  enabled: boolean;
  actions: { type: string; value?: string[] }[];
}

describe("cloudflare SDK: Email Routing, each step builds on the one before", () => {
  const scope = createScope();
  let platform: Platform;
  let client: ReturnType<typeof sdk>;
  let zone_id: string;
  let account_id: string;
  before(async () => {
    platform = await startPlatform(scope);
    account_id = platform.account;
    client = sdk(platform, { apiToken: platform.token });
    ({ id: zone_id } = await client.zones.create({ account: { id: account_id }, name: "example.com" }));
  });
  after(scope.close);

  it("settings are read, enabled with records, updated, unlocked and disabled, by current and deprecated calls", async () => {
    assert.deepEqual(
      [
        (await client.emailRouting.get({ zone_id })).enabled,
        (await client.emailRouting.dns.get({ zone_id })).length > 3,
      ],
      [false, true],
    );
    const made = await client.emailRouting.dns.create({ zone_id });
    assert.deepEqual(
      [made.enabled, made.status, made.name, made.id === made.tag],
      [true, "ready", "example.com", true],
    );
    assert.equal((await client.emailRouting.edit({ zone_id, support_subaddress: true })).support_subaddress, true);
    assert.equal((await client.emailRouting.update({ zone_id, skip_wizard: true })).support_subaddress, true);
    assert.equal((await client.emailRouting.dns.edit({ zone_id })).status, "unlocked");
    assert.equal((await client.emailRouting.dns.delete({ zone_id })).enabled, false);
    assert.equal((await client.emailRouting.enable({ zone_id, body: {} })).enabled, true);
    assert.equal((await client.emailRouting.unlock({ zone_id, body: {} })).status, "unlocked");
    assert.equal((await client.emailRouting.disable({ zone_id, body: {} })).enabled, false);
    assert.equal((await client.emailRouting.dns.create({ zone_id, name: "example.com" })).enabled, true);
  });

  it("addresses are created, listed by verification, verified by an administrator, and deleted", async () => {
    const made = await client.emailRouting.addresses.create({ account_id, email: "me@example.net" });
    assert.deepEqual([made.email, made.verified], ["me@example.net", null]);
    assert.deepEqual(await all(client.emailRouting.addresses.list({ account_id, verified: true })), []);
    assert.equal(
      (await all(client.emailRouting.addresses.list({ account_id, verified: false, direction: "desc" }))).length,
      1,
    );
    assert.match(
      (await client.emailRouting.addresses.edit(made.id, { account_id, status: "verified" })).verified,
      /^20\d\d-/,
    );
    assert.equal((await client.emailRouting.addresses.get(made.id, { account_id })).email, "me@example.net");
    const other = await client.emailRouting.addresses.create({ account_id, email: "other@example.net" });
    await client.emailRouting.addresses.delete(other.id, { account_id });
    await assert.rejects(
      client.emailRouting.addresses.get(other.id, { account_id }),
      (error: { status: number }) => error.status === 404,
    );
  });

  it("rules are created, listed for the zone and the account, replaced and deleted, and separate calls handle the catch-all rule", async () => {
    const matchers = [{ type: "literal", field: "to", value: "me@example.com" }];
    const made: Rule = await client.emailRouting.rules.create({
      zone_id,
      matchers,
      actions: [{ type: "forward", value: ["me@example.net"] }],
      name: "me",
      priority: 1,
    });
    assert.deepEqual([made.enabled, made.name], [true, "me"]);
    assert.equal((await client.emailRouting.rules.get(made.id, { zone_id })).id, made.id);
    const replaced: Rule = await client.emailRouting.rules.update(made.id, {
      zone_id,
      matchers,
      actions: [{ type: "drop" }],
      enabled: false,
    });
    assert.deepEqual([replaced.enabled, replaced.actions[0]!.type], [false, "drop"]);
    assert.deepEqual(
      (await all<Rule>(client.emailRouting.rules.list({ zone_id }))).map(({ actions }) => actions[0]!.type),
      ["drop", "drop"],
    );
    assert.ok(
      (await all<Rule>(client.emailRouting.accountRules.list({ account_id }))).some(({ id }) => id === made.id),
    );
    const catchAll = await client.emailRouting.rules.catchAlls.update({
      zone_id,
      matchers: [{ type: "all" }],
      actions: [{ type: "forward", value: ["me@example.net"] }],
      enabled: true,
    });
    assert.deepEqual(
      [catchAll.enabled, (await client.emailRouting.rules.catchAlls.get({ zone_id })).actions[0].value],
      [true, ["me@example.net"]],
    );
    await assert.rejects(client.emailRouting.rules.get(catchAll.id, { zone_id }), failsWith(409, 2020));
    await client.emailRouting.rules.delete(made.id, { zone_id });
    assert.equal((await all(client.emailRouting.rules.list({ zone_id }))).length, 1);
  });
});
