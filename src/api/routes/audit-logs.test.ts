import assert from "node:assert/strict";
import { test } from "node:test";
import { ACCOUNT, firstErrorOf, setUpAccounts as setUp } from "./accounts.testing.ts";

const SETTINGS_READ = "c1fde68c7bcc44588cbb6ddbc16d6480";
const USER_READ = "8acbe5bb0d54464ab867149d7f7cf8ac";

interface Shown {
  action: { type: string };
  metadata: { operation: string; user_log: boolean };
}
const operations = ({ body }: { body: { result: Shown[] } }) => body.result.map(({ metadata }) => metadata.operation);

test("lists the changes of an account in the published form", async (t) => {
  const { call, account, user } = await setUp(t);
  const { headers } = await call("put", `/accounts/${account.id}`, {
    body: { name: "Renamed" },
    headers: { "user-agent": "test/1" },
  });
  const { status, body } = await call("get", `/accounts/${account.id}/audit_logs`);
  assert.equal(status, 200);
  assert.deepEqual(body.result_info, { page: 1, per_page: 100, count: 2, total_count: 2, total_pages: 1 });
  const [{ id, when, oldValue, newValue, oldValueJson, newValueJson, metadata, ...rest }, firstRun] = body.result;
  assert.match(id, /^[0-9a-f]{32}$/);
  assert.equal(new Date(when).toISOString(), when);
  assert.deepEqual(rest, {
    action: { type: "update", result: true },
    actor: { id: user.id, email: user.email, ip: "127.0.0.1", type: "user" },
    interface: "API",
    owner: { id: account.id },
    resource: { type: "accounts", id: account.id },
  });
  assert.deepEqual([oldValueJson.name, newValueJson.name], ["My account", "Renamed"]);
  assert.deepEqual([JSON.parse(oldValue), JSON.parse(newValue)], [oldValueJson, newValueJson]);
  const { token_id: tokenId, ...more } = metadata;
  assert.match(tokenId, /^[0-9a-f]{32}$/);
  assert.deepEqual(more, {
    operation: "accounts-update-account",
    summary: "Update an account",
    user_log: false,
    user_agent: "test/1",
    request_id: headers.get("x-request-id"),
    method: "PUT",
    path: `/accounts/${account.id}`,
    params: { account_id: account.id },
  });
  assert.deepEqual(
    [firstRun.metadata.operation, firstRun.actor, firstRun.interface],
    ["first-run", { type: "admin" }, "system"],
  );
});

test("stores no secret of a token", async (t) => {
  const { call, account, make, as } = await setUp(t);
  const { id, value } = await make();
  const rolled = (await call("put", `/user/tokens/${id}/value`, { body: {} })).body.result;
  assert.equal((await as(rolled)("get", "/user/tokens/verify")).status, 200);
  const logs = [await call("get", "/user/audit_logs"), await call("get", `/accounts/${account.id}/audit_logs`)];
  assert.deepEqual(operations(logs[0]!), ["user-api-tokens-roll-token", "user-api-tokens-create-token", "first-run"]);
  assert.deepEqual(logs[0]!.body.result[0].newValue, '"[redacted]"');
  assert.equal(logs[0]!.body.result[1].newValueJson.value, "[redacted]");
  for (const { text } of logs) for (const secret of [value, rolled]) assert.ok(!text.includes(secret));
  // The log of the account names the token of the user, without its contents.
  assert.deepEqual(
    logs[1]!.body.result.map((entry: Shown & { newValue?: string }) => [
      entry.metadata.user_log,
      entry.newValue === undefined,
    ]),
    [
      [true, true],
      [true, true],
      [false, false],
    ],
  );
});

test("filters by the published parameters, and returns pages", async (t) => {
  const { call, account, user } = await setUp(t);
  const path = `/accounts/${account.id}/audit_logs`;
  for (const name of ["One", "Two"]) await call("put", `/accounts/${account.id}`, { body: { name } });
  const made = (await call("patch", "/user", { body: { first_name: "Ann" } })).body;
  assert.equal(made.success, true);
  const list = async (query: Record<string, string>) => operations(await call("get", path, { query }));
  const renamed = "accounts-update-account";
  assert.deepEqual(await list({ "action.type": "create" }), ["first-run"]);
  assert.deepEqual(await list({ "actor.email": user.email.toUpperCase() }), ["user-edit-user", renamed, renamed]);
  assert.deepEqual(await list({ "actor.ip": "127.0.0.0/8", hide_user_logs: "true" }), [renamed, renamed]);
  assert.deepEqual(await list({ "actor.ip": "192.0.2.1" }), []);
  assert.deepEqual(await list({ operation: renamed, direction: "asc", per_page: "1", page: "2" }), [renamed]);
  assert.deepEqual(await list({ "resource.type": "user", "resource.id": user.id }), ["user-edit-user"]);
  assert.deepEqual(await list({ since: "2000-01-01", before: "2001-01-01" }), []);
  assert.equal((await list({ since: "2000-01-01T00:00:00+02:00", before: "2999-01-01" })).length, 4);
  const { id } = (await call("get", path)).body.result[0];
  assert.deepEqual(await list({ id }), ["user-edit-user"]);
  assert.deepEqual(firstErrorOf(await call("get", path, { query: { "actor.ip": "10.0.0.0/99" } })), [
    400,
    1001,
    'Invalid filter: actor.ip: "10.0.0.0/99" is neither an IP address nor a range in CIDR notation',
  ]);
  assert.equal((await call("get", path, { query: { since: "yesterday" } })).status, 400);
  assert.equal((await call("get", path, { query: { "resource.id": "a\0" } })).status, 400);
});

test("exports CSV that a spreadsheet does not run", async (t) => {
  const { call, account } = await setUp(t);
  await call("put", `/accounts/${account.id}`, { body: { name: '=1+1,"x"' } });
  const { status, headers, text } = await call("get", `/accounts/${account.id}/audit_logs`, {
    query: { export: "true", "action.type": "update" },
    headers: { "user-agent": "@SUM(1)" },
  });
  assert.deepEqual([status, headers.get("content-type")], [200, "text/csv; charset=utf-8"]);
  const lines = text.split("\r\n");
  assert.match(lines[0]!, /^"when","id","actor_email",/);
  assert.match(lines[1]!, /"accounts-update-account".*""name"":""=1\+1,\\""x\\"""/);
  assert.deepEqual([lines.length, lines[2]], [3, ""]);
});

test("requires permission to read the account, and hides the values of accounts from a token for the user", async (t) => {
  const { call, as, account, user, make } = await setUp(t);
  await call("put", `/accounts/${account.id}`, { body: { name: "Renamed" } });
  const reader = as((await make()).value);
  assert.equal((await reader("get", `/accounts/${account.id}/audit_logs`)).status, 403);
  const ofUser = as(
    (
      await make({
        policies: [
          {
            effect: "allow",
            permission_groups: [{ id: USER_READ }],
            resources: { [`com.cloudflare.api.user.${user.id}`]: "*" },
          },
        ],
      })
    ).value,
  );
  assert.deepEqual(
    new Set(operations(await ofUser("get", "/user/audit_logs"))),
    new Set(["user-api-tokens-create-token"]),
  );
  assert.equal((await ofUser("get", `/accounts/${account.id}/audit_logs`)).status, 403);
  const settings = as(
    (
      await make({
        policies: [
          {
            effect: "allow",
            permission_groups: [{ id: SETTINGS_READ }],
            resources: { [`${ACCOUNT}.${account.id}`]: "*" },
          },
        ],
      })
    ).value,
  );
  assert.equal((await settings("get", `/accounts/${account.id}/audit_logs`)).status, 200);
});
