import assert from "node:assert/strict";
import { test } from "node:test";
import { ACCOUNT, firstErrorOf, setUpAccounts as setUp, STREAM_READ } from "./accounts.testing.ts";

const DNS_READ = "82e64a83756745bbbb1c9c2701bf816b";
const STREAM_WRITE = "714f9c13a5684c2885a793f5edb36f59";
const TOKENS_WRITE = "686d18d5ac6c441c867cbf6771e58a0a";

test("a token is created, read, updated, rolled and revoked", async (t) => {
  const { as, call, reader, make } = await setUp(t);
  const made = await make({
    condition: { request_ip: { in: ["127.0.0.0/8"], not_in: ["10.0.0.0/8"] } },
    not_before: "2020-01-01T00:00:00Z",
    expires_on: "2099-01-01T02:00:00+02:00",
    policies: [
      ...reader.policies,
      {
        effect: "deny",
        permission_groups: [{ id: DNS_READ, name: "anything", meta: {} }],
        resources: { [`${ACCOUNT}.*`]: { [`${ACCOUNT}.zone.*`]: "*" } },
      },
    ],
  });
  const { value, ...shown } = made;
  assert.match(value, /^[\w-]{40}$/);
  assert.deepEqual(shown, {
    id: made.id,
    status: "active",
    not_before: "2020-01-01T00:00:00Z",
    expires_on: "2099-01-01T00:00:00Z",
    name: "reader",
    issued_on: made.issued_on,
    modified_on: made.issued_on,
    condition: { request_ip: { in: ["127.0.0.0/8"], not_in: ["10.0.0.0/8"] } },
    policies: [
      {
        id: made.policies[0].id,
        effect: "allow",
        resources: reader.policies[0]!.resources,
        permission_groups: [{ id: STREAM_READ, name: "Stream Read" }],
      },
      {
        id: made.policies[1].id,
        effect: "deny",
        resources: { [`${ACCOUNT}.*`]: { [`${ACCOUNT}.zone.*`]: "*" } },
        permission_groups: [{ id: DNS_READ, name: "DNS Read" }],
      },
    ],
  });
  const path = `/user/tokens/${made.id}`;
  assert.deepEqual((await call("get", path)).body.result, shown);

  const changed = await call("put", path, { body: { ...reader, name: "renamed", status: "active" } });
  assert.deepEqual(
    [changed.body.result.name, changed.body.result.expires_on, changed.body.result.condition],
    ["renamed", undefined, undefined],
  );
  const rolled = await call("put", `${path}/value`, { body: {} });
  assert.equal(rolled.body.result.length, 40);
  assert.deepEqual(firstErrorOf(await as(value)("get", "/user/tokens/verify")), [401, 1000, "Invalid API Token"]);
  assert.equal((await as(rolled.body.result)("get", "/user/tokens/verify")).body.result.id, made.id);
  assert.deepEqual((await call("delete", path)).body.result, { id: made.id });
  assert.deepEqual(firstErrorOf(await as(rolled.body.result)("get", "/user/tokens/verify")), [
    401,
    1000,
    "Invalid API Token",
  ]);
  assert.deepEqual(firstErrorOf(await as(rolled.body.result)("get", "/accounts")), [
    401,
    10000,
    "Authentication error",
  ]);
  assert.deepEqual(firstErrorOf(await call("get", path)), [404, 1003, `API token ${made.id} not found`]);
});

test("verify returns the status of the token and the message of the hosted API", async (t) => {
  const { call, as, account, make } = await setUp(t);
  const { body } = await call("get", "/user/tokens/verify");
  assert.deepEqual(body.messages, [{ code: 10000, message: "This API Token is valid and active" }]);
  assert.equal(body.result.status, "active");
  const ended = await make({ expires_on: new Date(Date.now() + 60_000).toISOString() });
  assert.equal((await as(ended.value)("get", "/user/tokens/verify")).body.result.expires_on, ended.expires_on);
  assert.deepEqual(firstErrorOf(await as("nobody")("get", "/user/tokens/verify")), [401, 1000, "Invalid API Token"]);

  const owned = (
    await call("post", `/accounts/${account.id}/tokens`, {
      body: {
        name: "ci",
        policies: [
          {
            effect: "allow",
            permission_groups: [{ id: STREAM_READ }],
            resources: { [`${ACCOUNT}.${account.id}`]: "*" },
          },
        ],
      },
    })
  ).body.result;
  assert.equal((await as(owned.value)("get", `/accounts/${account.id}/tokens/verify`)).body.result.id, owned.id);
  assert.deepEqual(firstErrorOf(await as(owned.value)("get", "/user/tokens/verify")), [401, 1000, "Invalid API Token"]);
  assert.deepEqual(firstErrorOf(await call("get", `/accounts/${account.id}/tokens/verify`)), [
    401,
    1000,
    "Invalid API Token",
  ]);
});

test("an account token can access its account, but no user", async (t) => {
  const { call, as, account, user } = await setUp(t);
  const base = `/accounts/${account.id}/tokens`;
  const policies = [
    { effect: "allow", permission_groups: [{ id: STREAM_READ }], resources: { [`${ACCOUNT}.${account.id}`]: "*" } },
  ];
  const { id, value } = (await call("post", base, { body: { name: "ci", policies } })).body.result;
  assert.deepEqual(
    (await call("get", base)).body.result.map((token: { id: string }) => token.id),
    [id],
  );
  assert.equal((await call("get", `${base}/${id}`)).body.result.name, "ci");
  assert.equal((await call("put", `${base}/${id}`, { body: { name: "ci 2", policies } })).body.result.name, "ci 2");
  assert.deepEqual(
    (await as(value)("get", "/accounts")).body.result.map((each: { id: string }) => each.id),
    [account.id],
  );
  assert.deepEqual(firstErrorOf(await as(value)("get", "/user")).slice(0, 2), [403, 9109]);
  assert.deepEqual(firstErrorOf(await as(value)("get", base)).slice(0, 2), [403, 9109]);
  assert.equal((await call("get", `/user/tokens/${id}`)).status, 404);
  const users = {
    name: "x",
    policies: [
      {
        effect: "allow",
        permission_groups: [{ id: TOKENS_WRITE }],
        resources: { [`com.cloudflare.api.user.${user.id}`]: "*" },
      },
    ],
  };
  assert.deepEqual(firstErrorOf(await call("post", base, { body: users })).slice(0, 2), [400, 1001]);
  const next = (await call("put", `${base}/${id}/value`, { body: {} })).body.result;
  assert.equal((await as(next)("get", "/accounts")).status, 200);
  assert.equal((await call("delete", `${base}/${id}`)).status, 200);
});

test("lists tokens by page and omits expired ones by default", async (t) => {
  const { call, make } = await setUp(t);
  for (let i = 0; i < 6; i++) await make({ name: `t${i}` });
  const page = async (number: number) => {
    const { body } = await call("get", "/user/tokens", { query: { page: number, per_page: 5 } });
    assert.deepEqual(body.result_info, {
      page: number,
      per_page: 5,
      count: body.result.length,
      total_count: 7,
      total_pages: 2,
    });
    return body.result.map(({ name }: { name: string }) => name);
  };
  assert.deepEqual([...(await page(1)), ...(await page(2))].sort(), [
    "First token",
    "t0",
    "t1",
    "t2",
    "t3",
    "t4",
    "t5",
  ]);
  assert.deepEqual(await page(3), []);
  assert.equal(
    (await call("get", "/user/tokens", { query: { include_expired: "true", direction: "desc" } })).body.result.length,
    7,
  );
  assert.equal((await call("get", "/user/tokens", { query: { direction: "up" } })).status, 400);
});

test("rejects disabled tokens and requests from disallowed addresses", async (t) => {
  const { call, as, make } = await setUp(t);
  const disabled = await make({ status: "disabled" });
  assert.equal(disabled.status, "disabled");
  assert.deepEqual(firstErrorOf(await as(disabled.value)("get", "/accounts")), [401, 10000, "Authentication error"]);
  const elsewhere = await make({ condition: { "request.ip": { in: ["192.0.2.0/24"] } } });
  assert.deepEqual(firstErrorOf(await as(elsewhere.value)("get", "/accounts")), [
    403,
    9109,
    "Cannot use the access token from location: 127.0.0.1",
  ]);
  const late = await make({ not_before: "2099-01-01T00:00:00Z" });
  assert.equal((await as(late.value)("get", "/accounts")).status, 401);
  assert.equal((await call("get", "/user/tokens")).body.result.length, 4);
});

test("a token cannot create a stronger token or read another token's value", async (t) => {
  const { call, as, account, user, reader, make } = await setUp(t);
  const grantor = await make({
    policies: [
      ...reader.policies,
      {
        effect: "allow",
        permission_groups: [{ id: TOKENS_WRITE }],
        resources: { [`com.cloudflare.api.user.${user.id}`]: "*" },
      },
    ],
  });
  const stronger = {
    name: "stronger",
    policies: [
      { effect: "allow", permission_groups: [{ id: STREAM_WRITE }], resources: { [`${ACCOUNT}.${account.id}`]: "*" } },
    ],
  };
  const refused = await as(grantor.value)("post", "/user/tokens", { body: stronger });
  assert.deepEqual(firstErrorOf(refused), [403, 9109, "Unauthorized to access requested resource"]);
  assert.match(refused.body.errors[0].error_chain[0].message, /Use a token with "Stream Write" on account/);
  assert.equal((await as(grantor.value)("post", "/user/tokens", { body: reader })).status, 200);
  const admin = (await call("get", "/user/tokens/verify")).body.result.id;
  assert.equal((await as(grantor.value)("put", `/user/tokens/${admin}/value`, { body: {} })).status, 403);
});

test("rejects invalid tokens and reports the field", async (t) => {
  const { call, reader } = await setUp(t);
  const refused = async (change: object) =>
    firstErrorOf(await call("post", "/user/tokens", { body: { ...reader, ...change } }));
  const message = async (change: object) => String((await refused(change))[2]);
  assert.match(await message({ name: "" }), /name: /);
  assert.match(await message({ name: "x".repeat(121) }), /name: /);
  assert.match(await message({ policies: undefined }), /policies: /);
  assert.match(await message({ policies: [{ ...reader.policies[0], effect: "maybe" }] }), /policies\.0\.effect/);
  assert.match(
    await message({ policies: [{ ...reader.policies[0], permission_groups: [{ id: "nope" }] }] }),
    /policies\.0\.permission_groups\.0\.id/,
  );
  assert.match(await message({ expires_on: "tomorrow" }), /expires_on/);
  assert.deepEqual(await refused({ expires_on: "2020-01-01T00:00:00Z" }), [
    400,
    1001,
    "Invalid API token: expires_on: it is in the past",
  ]);
  const { body } = await call("post", "/user/tokens", {
    body: { ...reader, policies: [{ ...reader.policies[0], resources: { foo: "string" } }] },
  });
  assert.deepEqual(body.errors[0].error_chain[0].source, { pointer: "/policies/0/resources" });
});

test("permission groups equal those of the hosted service, and are found by name and scope", async (t) => {
  const { call, account } = await setUp(t);
  for (const base of ["/user/tokens", `/accounts/${account.id}/tokens`]) {
    const { body } = await call("get", `${base}/permission_groups`);
    assert.ok(body.result.length >= 36);
    assert.equal(new Set(body.result.map(({ id }: { id: string }) => id)).size, body.result.length);
    const query = { name: "Workers Scripts Write" };
    assert.deepEqual((await call("get", `${base}/permission_groups`, { query })).body.result, [
      {
        id: "e086da7e2179491d91ee5f35b3ca210a",
        name: "Workers Scripts Write",
        scopes: [ACCOUNT],
        category: "developer_platform",
      },
    ]);
    const zone = (await call("get", `${base}/permission_groups`, { query: { scope: `${ACCOUNT}.zone` } })).body.result;
    assert.ok(zone.length > 5 && zone.every(({ scopes }: { scopes: string[] }) => scopes[0] === `${ACCOUNT}.zone`));
    assert.deepEqual((await call("get", `${base}/permission_groups`, { query: { page: 2 } })).body.result, []);
  }
});

test("X-Auth-Email and X-Auth-Key authenticate with the global key or a token", async (t) => {
  const { api, available, token } = await setUp(t);
  const { key } = await available.createGlobalKey();
  const ask = async (email: string, secret: string) =>
    (await fetch(`${api.url}/user`, { headers: { "x-auth-email": email, "x-auth-key": secret } })).status;
  assert.deepEqual(
    [
      await ask("admin@reelpost.internal", key),
      await ask("Admin@Reelpost.Internal", token),
      await ask("other@localhost", key),
      await ask("admin@reelpost.internal", "x"),
    ],
    [200, 200, 401, 401],
  );
  assert.equal((await api.call("get", "/user", { headers: { authorization: `Bearer ${key}` } })).status, 401);
});
