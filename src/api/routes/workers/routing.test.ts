import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formOf, metadataOf, startWorkersApi, WORKERS, ZONE } from "./workers.testing.ts";

const ROUTES = `/zones/${ZONE.id}/workers/routes`;
const SCRIPT = `${WORKERS}/scripts/hello`;

describe("routes of a zone", () => {
  test("create, list, get, update and delete", async (t) => {
    const { ok, refused } = await startWorkersApi(t);
    await ok("put", SCRIPT, { body: formOf(metadataOf()) });
    const route = { pattern: "*.example.com/api/*", script: "hello" };
    const { id, ...made } = await ok("post", ROUTES, { body: route });
    assert.deepEqual(made, route);
    assert.deepEqual(await ok("get", ROUTES), [{ id, ...route }]);
    assert.deepEqual(await ok("get", `${ROUTES}/${id}`), { id, ...route });
    assert.deepEqual((await refused("post", ROUTES, { body: route })).slice(0, 2), [409, 10020]);
    const disabled = await ok("put", `${ROUTES}/${id}`, { body: { pattern: "example.com" } });
    assert.deepEqual(disabled, { id, pattern: "example.com" });
    assert.deepEqual(await ok("delete", `${ROUTES}/${id}`), { id });
    assert.deepEqual((await refused("get", `${ROUTES}/${id}`)).slice(0, 2), [404, 10009]);
    for (const [body, code] of [
      [{ pattern: "other.example/*" }, 10022],
      [{ pattern: "example.com/a*b" }, 10022],
      [{ pattern: "example.com/*", script: "absent" }, 10019],
    ] as const)
      assert.deepEqual((await refused("post", ROUTES, { body })).slice(0, 2), [400, code]);
  });

  test("the routes of a worker are replaced as a whole", async (t) => {
    const { ok, refused } = await startWorkersApi(t);
    const body = [{ pattern: "example.com/a/*" }, { pattern: "www.example.com/*", zone_name: "example.com" }];
    const validate = { query: { validate: "true" }, body };
    assert.deepEqual(await ok("put", `${SCRIPT}/routes`, validate), []);
    assert.deepEqual((await refused("put", `${SCRIPT}/routes`, { body })).slice(0, 2), [400, 10019]);
    await ok("put", SCRIPT, { body: formOf(metadataOf()) });
    const set = await ok("put", `${SCRIPT}/routes`, { body });
    assert.deepEqual(
      set.map(({ pattern, zone_name, script }: Record<string, string>) => [pattern, zone_name, script]),
      body.map(({ pattern }) => [pattern, "example.com", "hello"]),
    );
    const [kept] = await ok("put", `${SCRIPT}/routes`, { body: body.slice(0, 1) });
    assert.equal(kept.id, set[0].id);
    await ok("post", ROUTES, { body: { pattern: "example.com/b" } });
    const taken = { body: [{ pattern: "example.com/c" }, { pattern: "example.com/b" }] };
    assert.deepEqual((await refused("put", `${SCRIPT}/routes`, taken)).slice(0, 2), [409, 10020]);
    const elsewhere = { body: [{ pattern: "other.example/*" }] };
    assert.deepEqual((await refused("put", `${SCRIPT}/routes`, elsewhere)).slice(0, 2), [400, 10082]);
    assert.deepEqual(await ok("get", `${SCRIPT}/routes`), [kept]);
  });
});

describe("custom domains", () => {
  test("attach, list, get and detach", async (t) => {
    const { ok, refused } = await startWorkersApi(t);
    await ok("put", SCRIPT, { body: formOf(metadataOf()) });
    const sent = { hostname: "App.example.com", service: "hello", zone_id: ZONE.id, environment: "production" };
    const made = await ok("put", `${WORKERS}/domains`, { body: sent });
    assert.deepEqual(
      [made.hostname, made.service, made.zone_id, made.zone_name, made.environment],
      ["app.example.com", "hello", ZONE.id, "example.com", "production"],
    );
    assert.deepEqual(await ok("get", `${WORKERS}/domains`, { query: { service: "hello" } }), [made]);
    assert.deepEqual(await ok("get", `${WORKERS}/domains`, { query: { service: "other" } }), []);
    assert.deepEqual(await ok("get", `${WORKERS}/domains/${made.id}`), made);
    assert.equal(await ok("delete", `${WORKERS}/domains/${made.id}`), null);
    assert.deepEqual((await refused("delete", `${WORKERS}/domains/${made.id}`)).slice(0, 2), [404, 100114]);
    for (const [hostname, code] of [
      ["*.example.com", 100115],
      ["app.other.example", 10082],
    ])
      assert.deepEqual(
        (await refused("put", `${WORKERS}/domains`, { body: { hostname, service: "hello" } })).slice(0, 2),
        [400, code],
      );
  });

  test("the changeset of a deploy, and its records", async (t) => {
    const { ok, refused } = await startWorkersApi(t);
    await ok("put", SCRIPT, { body: formOf(metadataOf()) });
    await ok("put", `${WORKERS}/scripts/other`, { body: formOf(metadataOf()) });
    const attach = (hostname: string, service: string) =>
      ok("put", `${WORKERS}/domains`, { body: { hostname, service } });
    await attach("old.example.com", "hello");
    await attach("theirs.example.com", "other");
    const origins = [
      { hostname: "new.example.com" },
      { hostname: "theirs.example.com" },
      { hostname: "used.example.com" },
    ];
    const plan = await ok("post", `${SCRIPT}/domains/changeset`, { query: { replace_state: "true" }, body: origins });
    const names = (list: { hostname: string }[]) => list.map(({ hostname }) => hostname);
    assert.deepEqual(
      [names(plan.added), names(plan.removed), names(plan.updated), names(plan.conflicting)],
      [["new.example.com", "used.example.com"], ["old.example.com"], ["theirs.example.com"], ["used.example.com"]],
    );
    assert.equal(plan.updated[0].modified, true);
    const records = `${SCRIPT}/domains/records`;
    assert.deepEqual((await refused("put", records, { body: { origins } })).slice(0, 2), [409, 100116]);
    const moving = { origins, override_existing_origin: true };
    assert.deepEqual((await refused("put", records, { body: moving })).slice(0, 2), [409, 100117]);
    const query = { validate: "true" };
    assert.deepEqual((await refused("put", records, { query, body: moving })).slice(0, 2), [409, 100117]);
    assert.deepEqual(names(await ok("get", `${WORKERS}/domains`)), ["old.example.com", "theirs.example.com"]);
    const all = { ...moving, override_existing_dns_record: true };
    assert.deepEqual(await ok("put", records, { query, body: all }), []);
    assert.deepEqual(names(await ok("put", records, { body: all })), names(origins));
  });
});
