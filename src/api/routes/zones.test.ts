import assert from "node:assert/strict";
import { test } from "node:test";
import type { Caller } from "../../accounts/index.ts";
import { unrestrictedCaller, TEST_ACCOUNT } from "../api.testing.ts";
import { codes, openZonesApi, OTHER_ACCOUNT } from "./zones.testing.ts";

test("zones are created, found by name as wrangler does, updated and deleted", async (t) => {
  const { call } = await openZonesApi(t);
  const made = await call("post", "/zones", {
    body: { name: "Example.COM", account: { id: TEST_ACCOUNT }, type: "full", jump_start: true },
  });
  assert.equal(made.status, 200);
  const { id } = made.body.result;
  assert.deepEqual(
    [made.body.result.name, made.body.result.status, made.body.result.account, made.body.result.name_servers.length],
    ["example.com", "active", { id: TEST_ACCOUNT, name: "Dev Account" }, 2],
  );
  const found = await call("get", "/zones", { query: { name: "example.com", "account.id": TEST_ACCOUNT } });
  assert.deepEqual(
    [found.body.result.map((zone: { id: string }) => zone.id), found.body.result_info],
    [[id], { page: 1, per_page: 20, count: 1, total_count: 1, total_pages: 1 }],
  );
  assert.deepEqual((await call("get", `/zones/${id}`)).body.result, made.body.result);
  const changed = await call("patch", `/zones/${id}`, { body: { paused: true } });
  assert.equal(changed.body.result.paused, true);
  assert.deepEqual(
    (await call("patch", `/zones/${id}`, { body: { vanity_name_servers: ["ns1.example.com"] } })).body.result
      .vanity_name_servers,
    ["ns1.example.com"],
  );
  assert.deepEqual((await call("delete", `/zones/${id}`)).body.result, { id });
  assert.deepEqual(codes(await call("get", `/zones/${id}`)), [404, 7003, undefined]);
});

test("zones are filtered, sorted and listed to the last page", async (t) => {
  const { call, zone } = await openZonesApi(t);
  for (const name of ["a.test", "b.test", "c.example"]) await zone(name);
  await zone("d.test", OTHER_ACCOUNT);
  const names = async (query: Record<string, string | number>) => {
    const { status, body } = await call("get", "/zones", { query });
    return status === 200 ? body.result.map(({ name }: { name: string }) => name).join(" ") : status;
  };
  assert.equal(await names({}), "a.test b.test c.example d.test");
  assert.equal(await names({ name: "ends_with:.test", direction: "desc" }), "d.test b.test a.test");
  assert.equal(await names({ name: "contains:ex" }), "c.example");
  assert.equal(await names({ name: "starts_with:b" }), "b.test");
  assert.equal(await names({ name: "not_equal:a.test", per_page: 2, page: 2 }), "d.test");
  assert.equal(await names({ "account.name": "contains:dev" }), "a.test b.test c.example");
  assert.equal(await names({ "account.name": "contains_case_sensitive:dev" }), "");
  assert.equal(await names({ "account.id": OTHER_ACCOUNT, name: "a.test", match: "any" }), "a.test d.test");
  assert.equal(await names({ order: "account.name", direction: "desc" }), "d.test c.example b.test a.test");
  assert.equal(await names({ status: "pending" }), "");
  assert.equal(await names({ type: "full,partial" }), "a.test b.test c.example d.test");
  assert.equal(await names({ page: 9 }), "");
  assert.equal(await names({ type: "quick" }), 400);
  assert.equal(await names({ order: "colour" }), 400);
});

test("rejects invalid zones with the published code", async (t) => {
  const { call, zone } = await openZonesApi(t);
  await zone();
  const post = async (body: unknown) => codes(await call("post", "/zones", { body })).slice(0, 2);
  const account = { id: TEST_ACCOUNT };
  assert.deepEqual(await post({ name: "example.com", account }), [400, 1061]);
  assert.equal(
    (await call("post", "/zones", { body: { name: "example.com", account } })).body.errors[0].message,
    "example.com already exists",
  );
  assert.deepEqual(await post({ name: "localhost", account }), [400, 1003]);
  assert.deepEqual(await post({ name: "co.uk", account }), [400, 1049]);
  assert.deepEqual(await post({ name: "x.test", account, type: "secondary" }), [400, 1098]);
  assert.deepEqual(await post({ name: "x.test", account, type: "quick" }), [400, 10001]);
  assert.deepEqual(await post({ account }), [400, 10001]);
  assert.deepEqual(await post({ name: "x.test" }), [400, 10001]);
  assert.deepEqual(await post({ name: "x.test", account: { id: "f".repeat(32) } }), [403, 9109]);
  assert.deepEqual(await post("{"), [400, 6007]);
});

test("a token for one zone sees only that zone", async (t) => {
  let mine = "";
  const caller: Caller = {
    ...unrestrictedCaller,
    accounts: [TEST_ACCOUNT],
    allows: (permission, on) => permission === "Zone Read" && "zone" in on && on.zone === mine,
  };
  const { call, zone } = await openZonesApi(t, caller);
  mine = await zone("mine.test");
  const other = await zone("other.test");
  assert.deepEqual(
    (await call("get", "/zones")).body.result.map(({ name }: { name: string }) => name),
    ["mine.test"],
  );
  assert.equal((await call("get", `/zones/${mine}`)).status, 200);
  assert.deepEqual(codes(await call("get", `/zones/${other}`)).slice(0, 2), [403, 9109]);
  assert.deepEqual(codes(await call("delete", `/zones/${mine}`)).slice(0, 2), [403, 9109]);
  assert.deepEqual(codes(await call("get", `/zones/${mine}/dns_records`)).slice(0, 2), [403, 9109]);
  assert.deepEqual(codes(await call("post", "/zones", { body: { name: "x.test" } })).slice(0, 2), [403, 9109]);
});

test("a zone that a policy denies does not appear in any list", async (t) => {
  const denied: string[] = [];
  const caller: Caller = {
    ...unrestrictedCaller,
    accounts: [TEST_ACCOUNT, OTHER_ACCOUNT],
    deniedZones: denied,
    allows: (_, on) => !("zone" in on && denied.includes(on.zone)),
  };
  const { call, zone } = await openZonesApi(t, caller);
  const seen = await zone("seen.test");
  denied.push(await zone("hidden.test"), "0".repeat(32));
  const { result, result_info } = (await call("get", "/zones")).body;
  assert.deepEqual([result.map(({ id }: { id: string }) => id), result_info.total_count], [[seen], 1]);
  assert.equal((await call("get", `/zones/${denied[0]}`)).status, 403);
});

test("treats null in a zone as an omitted field", async (t) => {
  const { call, zone } = await openZonesApi(t);
  const id = await zone();
  const before = (await call("patch", `/zones/${id}`, { body: { paused: true } })).body.result;
  const { status, body } = await call("patch", `/zones/${id}`, {
    body: { paused: null, type: null, vanity_name_servers: null },
  });
  assert.deepEqual([status, body.result], [200, { ...before, modified_on: body.result.modified_on }]);
  const made = await call("post", "/zones", {
    body: { name: "null.example", account: { id: TEST_ACCOUNT }, type: null },
  });
  assert.deepEqual([made.status, made.body.result.type], [200, "full"]);
});
