import assert from "node:assert/strict";
import { test } from "node:test";
import { ACCOUNT, firstErrorOf, setUpAccounts, STREAM_READ } from "./accounts.testing.ts";

test("an account is created, read, updated and deleted", async (t) => {
  const { call, account } = await setUpAccounts(t);
  const { result: made } = (
    await call("post", "/accounts", { body: { name: "Second", type: "standard", unit: { id: "x" } } })
  ).body;
  assert.deepEqual(made, {
    id: made.id,
    name: "Second",
    type: "standard",
    created_on: made.created_on,
    settings: { enforce_twofactor: false },
  });
  const path = `/accounts/${made.id}`;
  assert.deepEqual((await call("get", path)).body.result, made);
  const settings = { abuse_contact_email: "abuse@example.com", enforce_twofactor: true };
  assert.deepEqual(
    (await call("put", path, { body: { id: made.id, name: "Renamed", type: "enterprise", settings } })).body.result,
    { ...made, name: "Renamed", type: "enterprise", settings },
  );
  assert.deepEqual(
    (await call("put", path, { body: { name: "Renamed", settings: { abuse_contact_email: null } } })).body.result
      .settings,
    { enforce_twofactor: true },
  );
  assert.deepEqual(firstErrorOf(await call("put", path, { body: { id: account.id, name: "x" } })), [
    400,
    1001,
    "Invalid account: id: it is not the one in the path",
  ]);
  assert.deepEqual(firstErrorOf(await call("post", "/accounts", { body: { name: " " } })), [
    400,
    1001,
    "Invalid account: name: it is empty",
  ]);
  assert.equal((await call("post", "/accounts", { body: {} })).status, 400);
  assert.deepEqual((await call("delete", path)).body.result, { id: made.id });
  assert.deepEqual(firstErrorOf(await call("get", path)).slice(0, 2), [404, 7003]);
  assert.deepEqual(firstErrorOf(await call("delete", `/accounts/${account.id}`)), [
    409,
    1021,
    "Cannot delete the last account",
  ]);
});

test("an account with resources cannot be deleted", async (t) => {
  const { call } = await setUpAccounts(t, { contents: async () => "1 zone and 2 workers" });
  const { id } = (await call("post", "/accounts", { body: { name: "Full" } })).body.result;
  assert.deepEqual(firstErrorOf(await call("delete", `/accounts/${id}`)), [
    409,
    1022,
    "The account is not empty: it has 1 zone and 2 workers",
  ]);
});

test("a token lists the accounts that it can access, by page", async (t) => {
  const { call, as, account, make } = await setUpAccounts(t);
  const { value } = await make();
  for (let i = 0; i < 5; i++) await call("post", "/accounts", { body: { name: `a${i}` } });
  const names = async (query: Record<string, string | number>) =>
    (await call("get", "/accounts", { query })).body.result.map(({ name }: { name: string }) => name);
  assert.equal((await names({})).length, 6);
  assert.equal((await names({ page: 2, per_page: 5 })).length, 1);
  assert.deepEqual(await names({ page: 3, per_page: 5 }), []);
  assert.deepEqual(await names({ name: "a3" }), ["a3"]);
  assert.deepEqual(await names({ direction: "desc", per_page: 1 }), ["a4"]);
  const narrow = as(value);
  assert.deepEqual((await narrow("get", "/accounts")).body.result_info, {
    page: 1,
    per_page: 20,
    count: 1,
    total_count: 1,
    total_pages: 1,
  });
  assert.equal((await narrow("get", `/accounts/${account.id}`)).status, 200);
  const other = (await call("get", "/accounts", { query: { name: "a3" } })).body.result[0].id;
  assert.deepEqual(firstErrorOf(await narrow("get", `/accounts/${other}`)).slice(0, 2), [403, 9109]);
  assert.deepEqual(
    firstErrorOf(await narrow("put", `/accounts/${account.id}`, { body: { name: "x" } })).slice(0, 2),
    [403, 9109],
  );
  assert.deepEqual(firstErrorOf(await narrow("post", "/accounts", { body: { name: "x" } })).slice(0, 2), [403, 9109]);
});

test("a token for the zones of an account can list that account", async (t) => {
  const { as, account, make } = await setUpAccounts(t);
  const dnsRead = "82e64a83756745bbbb1c9c2701bf816b";
  const { value } = await make({
    policies: [
      {
        effect: "allow",
        permission_groups: [{ id: dnsRead }],
        resources: { [`${ACCOUNT}.${account.id}`]: { [`${ACCOUNT}.zone.*`]: "*" } },
      },
    ],
  });
  assert.deepEqual(
    (await as(value)("get", "/accounts")).body.result.map(({ id }: { id: string }) => id),
    [account.id],
  );
});

test("the user is read and updated", async (t) => {
  const { call, as, user, make } = await setUpAccounts(t);
  assert.deepEqual((await call("get", "/user")).body.result, {
    id: user.id,
    email: "admin@reelpost.internal",
    first_name: null,
    last_name: null,
    telephone: null,
    country: null,
    zipcode: null,
    suspended: false,
    two_factor_authentication_enabled: false,
    two_factor_authentication_locked: false,
    has_pro_zones: false,
    has_business_zones: false,
    has_enterprise_zones: false,
    betas: [],
    organizations: [],
  });
  const { result } = (await call("patch", "/user", { body: { first_name: "Ann", country: "NL", zipcode: null } })).body;
  assert.deepEqual([result.first_name, result.country, result.zipcode], ["Ann", "NL", null]);
  for (const body of [{ country: "x".repeat(31) }, { first_name: "a\u0000" }, { telephone: 5 }, []])
    assert.equal((await call("patch", "/user", { body })).status, 400, JSON.stringify(body));
  assert.deepEqual(firstErrorOf(await as((await make()).value)("get", "/user")).slice(0, 2), [403, 9109]);
});

test("memberships are listed and read, and the last one cannot be removed", async (t) => {
  const { call, account } = await setUpAccounts(t);
  await call("post", "/accounts", { body: { name: "Second" } });
  const { body } = await call("get", "/memberships", { query: { page: 1 } });
  assert.deepEqual([body.result.length, body.result_info.total_count], [2, 2]);
  const [membership] = body.result;
  assert.deepEqual(
    [membership.account.id, membership.status, membership.roles],
    [account.id, "accepted", ["Super Administrator - All Privileges"]],
  );
  assert.deepEqual((await call("get", "/memberships", { query: { page: 2 } })).body.result, []);
  assert.deepEqual(
    (
      await call("get", "/memberships", {
        query: { "account.name": "Second", order: "account.name", direction: "desc" },
      })
    ).body.result.map((each: { account: { name: string } }) => each.account.name),
    ["Second"],
  );
  const path = `/memberships/${membership.id}`;
  const detailed = (await call("get", path)).body.result;
  assert.equal(detailed.policies[0].resource_groups[0].scope.key, `${ACCOUNT}.${account.id}`);
  assert.ok(detailed.policies[0].permission_groups.some(({ id }: { id: string }) => id === STREAM_READ));
  assert.equal((await call("put", path, { body: { status: "accepted" } })).body.result.status, "accepted");
  assert.deepEqual(firstErrorOf(await call("put", path, { body: { status: "rejected" } })).slice(0, 2), [409, 1032]);
  assert.equal((await call("put", path, { body: { status: "pending" } })).status, 400);
  assert.deepEqual(firstErrorOf(await call("delete", path)).slice(0, 2), [409, 1032]);
  assert.deepEqual(firstErrorOf(await call("delete", `/memberships/${"0".repeat(32)}`)).slice(0, 2), [404, 1031]);
});
