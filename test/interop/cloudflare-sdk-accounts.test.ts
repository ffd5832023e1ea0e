import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { all, AuthenticationError, failsWith, PermissionDeniedError, sdk } from "./cloudflare-sdk.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

interface Role {
  id: string;
  name: string;
}
interface AuditEntry {
  metadata: { operation: string };
  oldValueJson?: { user?: { email: string } };
}

describe("cloudflare SDK: user, accounts, tokens", () => {
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

  const policy = (...groups: { id: string }[]) => ({
    effect: "allow",
    resources: { [`com.cloudflare.api.account.${account_id}`]: "*" },
    permission_groups: groups.map(({ id }) => ({ id })),
  });
  const group = async (name: string) =>
    (await all<{ id: string; name: string }>(client.user.tokens.permissionGroups.list())).find(
      (group) => group.name === name,
    )!;

  it("lists users, accounts and memberships to the end", async () => {
    const { id, email } = await client.user.get();
    assert.match(id, /^[0-9a-f]{32}$/);
    assert.match(email, /@/);
    assert.deepEqual(
      (await all(client.accounts.list({ per_page: 5 }))).map(({ id }) => id),
      [account_id],
    );
    assert.equal((await client.accounts.get({ account_id })).id, account_id);
    const [membership, ...others] = await all<{ id: string; account: { id: string }; status: string }>(
      client.memberships.list(),
    );
    assert.deepEqual([membership!.account.id, others.length], [account_id, 0]);
  });

  it("renames an account, and does not find an unknown account id", async () => {
    const { type } = await client.accounts.get({ account_id });
    const renamed = await client.accounts.update({ account_id, id: account_id, type, name: "Renamed" });
    assert.deepEqual([renamed.name, (await client.accounts.get({ account_id })).name], ["Renamed", "Renamed"]);
    await assert.rejects(
      client.accounts.get({ account_id: "0".repeat(32) }),
      (error: { status: number }) => error.status === 403 || error.status === 404,
    );
  });

  it("a token is created, verified, listed, renamed, rolled and deleted; at each step only the current value works", async () => {
    const made = await client.user.tokens.create({
      name: "ci",
      policies: [policy(await group("Workers Scripts Read"))],
    });
    assert.equal(made.status, "active");
    const first = sdk(platform, { apiToken: made.value });
    const { id, status } = await first.user.tokens.verify();
    assert.deepEqual({ id, status }, { id: made.id, status: "active" });
    assert.ok((await all(client.user.tokens.list({ per_page: 5 }))).some(({ id }) => id === made.id));
    assert.equal((await client.user.tokens.get(made.id)).value, undefined);

    const rolled = await client.user.tokens.value.update(made.id, { body: {} });
    assert.notEqual(rolled, made.value);
    await assert.rejects(first.workers.scripts.list({ account_id }), failsWith(401, 10000));
    await assert.rejects(first.user.tokens.verify(), failsWith(401, 1000));
    const second = sdk(platform, { apiToken: rolled });
    assert.deepEqual(await all(second.workers.scripts.list({ account_id })), []);

    const disabled = await client.user.tokens.update(made.id, {
      name: "ci 2",
      status: "disabled",
      policies: [policy(await group("Workers Scripts Read"))],
    });
    assert.deepEqual([disabled.name, disabled.status], ["ci 2", "disabled"]);
    await assert.rejects(second.workers.scripts.list({ account_id }), AuthenticationError);
    await client.user.tokens.update(made.id, {
      name: "ci 2",
      status: "active",
      policies: [policy(await group("Workers Scripts Read"))],
    });
    assert.deepEqual(await all(second.workers.scripts.list({ account_id })), []);

    assert.equal((await client.user.tokens.delete(made.id)).id, made.id);
    await assert.rejects(second.workers.scripts.list({ account_id }), failsWith(401, 10000));
    await assert.rejects(client.user.tokens.get(made.id), (error: { status: number }) => error.status === 404);
  });

  it("a token grants its permissions and nothing else", async () => {
    const { value } = await client.user.tokens.create({
      name: "kv only",
      policies: [policy(await group("Workers KV Storage Read"))],
    });
    const reader = sdk(platform, { apiToken: value });
    assert.deepEqual(await all(reader.kv.namespaces.list({ account_id })), []);
    await assert.rejects(reader.kv.namespaces.create({ account_id, title: "no" }), PermissionDeniedError);
    await assert.rejects(reader.workers.scripts.list({ account_id }), PermissionDeniedError);
    await assert.rejects(
      reader.user.tokens.create({ name: "more", policies: [policy(await group("Workers KV Storage Write"))] }),
      PermissionDeniedError,
    );
  });

  it("manages the tokens of an account", async () => {
    const made = await client.accounts.tokens.create({
      account_id,
      name: "service",
      policies: [policy(await group("Workers Scripts Read"))],
    });
    const service = sdk(platform, { apiToken: made.value });
    assert.deepEqual(await all(service.workers.scripts.list({ account_id })), []);
    const { id, status } = await service.accounts.tokens.verify({ account_id });
    assert.deepEqual({ id, status }, { id: made.id, status: "active" });
    const rolled = await client.accounts.tokens.value.update(made.id, { account_id, body: {} });
    await assert.rejects(service.workers.scripts.list({ account_id }), AuthenticationError);
    assert.deepEqual(await all(sdk(platform, { apiToken: rolled }).workers.scripts.list({ account_id })), []);
    assert.deepEqual(
      (await all(client.accounts.tokens.list({ account_id }))).map(({ id }) => id),
      [made.id],
    );
    await client.accounts.tokens.delete(made.id, { account_id });
    assert.deepEqual(await all(client.accounts.tokens.list({ account_id })), []);
  });

  it("invites, changes and removes members", async () => {
    const roles = await all<{ id: string; name: string; permissions: object }>(
      client.accounts.roles.list({ account_id }),
    );
    const [administrator, editor, viewer] = roles as unknown as [Role, Role, Role];
    assert.equal((await client.accounts.roles.get(editor.id, { account_id })).name, editor.name);
    const invited = await client.accounts.members.create({ account_id, email: "bob@example.com", roles: [viewer.id] });
    assert.deepEqual(
      [invited.status, invited.user.email, invited.roles[0].id],
      ["pending", "bob@example.com", viewer.id],
    );
    const members = await all<{ id: string; roles: Role[] }>(client.accounts.members.list({ account_id, per_page: 5 }));
    assert.deepEqual(new Set(members.map(({ roles: [role] }) => role!.id)), new Set([administrator.id, viewer.id]));
    const changed = await client.accounts.members.update(invited.id, { account_id, roles: [{ id: editor.id }] });
    assert.equal(changed.roles[0].id, editor.id);
    assert.deepEqual(await client.accounts.members.get(invited.id, { account_id }), changed);
    await client.accounts.members.delete(invited.id, { account_id });
    const [own, ...others] = await all<{ id: string }>(client.accounts.members.list({ account_id }));
    assert.deepEqual(others, []);
    await assert.rejects(client.accounts.members.delete(own!.id, { account_id }), failsWith(409, 1032));
    assert.deepEqual(await all(client.user.invites.list()), []);
  });

  it("lists changes, across all pages and with filters", async () => {
    const { email } = await client.user.get();
    const entries = await all<AuditEntry>(client.auditLogs.list({ account_id, per_page: 3 }));
    assert.equal(entries.at(-1)!.metadata.operation, "first-run");
    const removed = await all<AuditEntry>(
      client.auditLogs.list({
        account_id,
        action: { type: "delete" },
        actor: { email, ip: "127.0.0.0/8" },
        hide_user_logs: true,
      }),
    );
    assert.deepEqual(
      removed.map(({ metadata, oldValueJson }) => [metadata.operation, oldValueJson?.user?.email]),
      [
        ["account-members-remove-member", "bob@example.com"],
        ["account-api-tokens-delete-token", undefined],
      ],
    );
    assert.deepEqual(await all(client.auditLogs.list({ account_id, before: "2000-01-01" })), []);
    const own = await all<AuditEntry>(client.user.auditLogs.list({ direction: "asc" }));
    assert.ok(own.some(({ metadata }) => metadata.operation === "user-api-tokens-roll-token"));
  });

  it("accepts matching X-Auth-Email and X-Auth-Key instead of a bearer token", async () => {
    const { email } = await client.user.get();
    const pair = sdk(platform, { apiEmail: email, apiKey: platform.token });
    assert.equal((await pair.user.get()).email, email);
    assert.deepEqual(
      (await all(pair.accounts.list())).map(({ id }) => id),
      [account_id],
    );
    await assert.rejects(
      sdk(platform, { apiEmail: "other@example.com", apiKey: platform.token }).user.get(),
      AuthenticationError,
    );
    await assert.rejects(sdk(platform, { apiEmail: email, apiKey: "0".repeat(37) }).user.get(), AuthenticationError);
  });

  it("an unknown token is rejected", async () => {
    await assert.rejects(sdk(platform, { apiToken: "nobody" }).user.get(), AuthenticationError);
  });
});
