import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { Caller, Permission } from "../../../accounts/index.ts";
import { unrestrictedCaller } from "../../api.testing.ts";
import { formOf, metadataOf, startWorkersApi, WORKERS, ZONE } from "./workers.testing.ts";

const ROUTES = `/zones/${ZONE.id}/workers/routes`;
const SCRIPT = `${WORKERS}/scripts/hello`;

describe("routes of a zone", () => {
  test("routes are created, listed, read, updated and deleted", async (t) => {
    const { ok, refused } = await startWorkersApi(t);
    await ok("put", SCRIPT, { body: formOf(metadataOf()) });
    const route = { pattern: "*.example.com/api/*", script: "hello" };
    const { id, ...createdRoute } = await ok("post", ROUTES, { body: route });
    assert.deepEqual(createdRoute, route);
    assert.deepEqual(await ok("get", ROUTES), [{ id, ...route }]);
    assert.deepEqual(await ok("get", `${ROUTES}/${id}`), { id, ...route });
    assert.deepEqual((await refused("post", ROUTES, { body: route })).slice(0, 2), [409, 10020]);
    const disabledRoute = await ok("put", `${ROUTES}/${id}`, { body: { pattern: "example.com" } });
    assert.deepEqual(disabledRoute, { id, pattern: "example.com" });
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
    const createdRoutes = await ok("put", `${SCRIPT}/routes`, { body });
    assert.deepEqual(
      createdRoutes.map(({ pattern, zone_name, script }: Record<string, string>) => [pattern, zone_name, script]),
      body.map(({ pattern }) => [pattern, "example.com", "hello"]),
    );
    const [keptRoute] = await ok("put", `${SCRIPT}/routes`, { body: body.slice(0, 1) });
    assert.equal(keptRoute.id, createdRoutes[0].id);
    await ok("post", ROUTES, { body: { pattern: "example.com/b" } });
    const conflictingRoutes = { body: [{ pattern: "example.com/c" }, { pattern: "example.com/b" }] };
    assert.deepEqual((await refused("put", `${SCRIPT}/routes`, conflictingRoutes)).slice(0, 2), [409, 10020]);
    const routesOutsideZone = { body: [{ pattern: "other.example/*" }] };
    assert.deepEqual((await refused("put", `${SCRIPT}/routes`, routesOutsideZone)).slice(0, 2), [400, 10082]);
    assert.deepEqual(await ok("get", `${SCRIPT}/routes`), [keptRoute]);
  });
});

test("changes to routes and domains report that they have no effect while the hosts of the API are unknown", async (t) => {
  const body = [{ pattern: "example.com/a/*" }];
  const domain = { hostname: "app.example.com", service: "hello", zone_id: ZONE.id };
  const changes = (api: Awaited<ReturnType<typeof startWorkersApi>>) => [
    () => api.call("put", `${SCRIPT}/routes`, { body }),
    () => api.call("post", ROUTES, { body: { pattern: "example.com/b", script: "hello" } }),
    () => api.call("put", `${WORKERS}/domains`, { body: domain }),
    () => api.call("put", `${SCRIPT}/domains/records`, { body: { origins: [{ hostname: "app.example.com" }] } }),
  ];
  for (const hasApiHost of [false, true]) {
    const api = await startWorkersApi(t, { hasApiHost });
    await api.ok("put", SCRIPT, { body: formOf(metadataOf()) });
    for (const change of changes(api)) {
      const { status, body: answer } = await change();
      const codes = answer.messages.map(({ code }: { code: number }) => code);
      assert.deepEqual([status, codes], [200, hasApiHost ? [] : [100_304]]);
    }
    const none = await api.call("put", `${SCRIPT}/routes`, { body: [] });
    assert.deepEqual(none.body.messages, []);
  }
});

describe("custom domains", () => {
  test("custom domains are attached, listed, read and detached", async (t) => {
    const { ok, refused } = await startWorkersApi(t);
    await ok("put", SCRIPT, { body: formOf(metadataOf()) });
    const domainBody = { hostname: "App.example.com", service: "hello", zone_id: ZONE.id, environment: "production" };
    const createdDomain = await ok("put", `${WORKERS}/domains`, { body: domainBody });
    assert.deepEqual(
      [
        createdDomain.hostname,
        createdDomain.service,
        createdDomain.zone_id,
        createdDomain.zone_name,
        createdDomain.environment,
      ],
      ["app.example.com", "hello", ZONE.id, "example.com", "production"],
    );
    assert.deepEqual(await ok("get", `${WORKERS}/domains`, { query: { service: "hello" } }), [createdDomain]);
    assert.deepEqual(await ok("get", `${WORKERS}/domains`, { query: { service: "other" } }), []);
    assert.deepEqual(await ok("get", `${WORKERS}/domains/${createdDomain.id}`), createdDomain);
    assert.equal(await ok("delete", `${WORKERS}/domains/${createdDomain.id}`), null);
    assert.deepEqual((await refused("delete", `${WORKERS}/domains/${createdDomain.id}`)).slice(0, 2), [404, 100114]);
    for (const [hostname, code] of [
      ["*.example.com", 100115],
      ["app.other.example", 10082],
    ])
      assert.deepEqual(
        (await refused("put", `${WORKERS}/domains`, { body: { hostname, service: "hello" } })).slice(0, 2),
        [400, code],
      );
  });

  test("a changeset lists the effect of a deploy, and replacing the records applies it", async (t) => {
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
    const takeover = { origins, override_existing_origin: true };
    assert.deepEqual((await refused("put", records, { body: takeover })).slice(0, 2), [409, 100117]);
    const query = { validate: "true" };
    assert.deepEqual((await refused("put", records, { query, body: takeover })).slice(0, 2), [409, 100117]);
    assert.deepEqual(names(await ok("get", `${WORKERS}/domains`)), ["old.example.com", "theirs.example.com"]);
    const fullOverride = { ...takeover, override_existing_dns_record: true };
    assert.deepEqual(await ok("put", records, { query, body: fullOverride }), []);
    assert.deepEqual(names(await ok("put", records, { body: fullOverride })), names(origins));
  });
});

describe("permissions", () => {
  async function start(t: TestContext) {
    const denied = new Set<string>();
    const caller: Caller = { ...unrestrictedCaller, allows: (permission) => !denied.has(permission) };
    const api = await startWorkersApi(t, { caller });
    await api.ok("put", SCRIPT, { body: formOf(metadataOf()) });
    return { ...api, deny: (...permissions: Permission[]) => permissions.forEach((each) => denied.add(each)), denied };
  }

  test("custom domains need access to the routes of the zone, and to its DNS to replace records", async (t) => {
    const { ok, refused, deny, denied } = await start(t);
    const attach = (hostname: string) => ({ body: { hostname, service: "hello" } });
    const { id } = await ok("put", `${WORKERS}/domains`, attach("app.example.com"));
    const records = `${SCRIPT}/domains/records`;
    const replacement = (...hostnames: string[]) => ({
      body: { origins: hostnames.map((hostname) => ({ hostname })), override_existing_dns_record: true },
    });
    deny("Workers Routes Write");
    for (const [method, path, request] of [
      ["put", `${WORKERS}/domains`, attach("new.example.com")],
      ["delete", `${WORKERS}/domains/${id}`, {}],
      ["put", records, replacement("app.example.com", "new.example.com")],
      ["put", records, replacement()],
      ["put", records, { ...replacement("new.example.com"), query: { validate: "true" } }],
    ] as const)
      assert.deepEqual((await refused(method, path, request)).slice(0, 2), [403, 9109], `${method} ${path}`);
    // Nothing changes.
    await ok("put", records, replacement("app.example.com"));
    denied.clear();
    deny("DNS Write");
    await ok("put", records, replacement("app.example.com", "new.example.com"));
    const takeover = replacement("app.example.com", "new.example.com", "used.example.com");
    assert.deepEqual((await refused("put", records, takeover)).slice(0, 2), [403, 9109]);
    denied.clear();
    await ok("put", records, takeover);
    deny("Workers Routes Write", "DNS Write");
    await ok("delete", SCRIPT);
  });

  test("replacing the routes of a worker needs access to the zones of the routes that it deletes", async (t) => {
    const { ok, refused, deny } = await start(t);
    const [route] = await ok("put", `${SCRIPT}/routes`, { body: [{ pattern: "example.com/a/*" }] });
    deny("Workers Routes Write");
    assert.deepEqual((await refused("put", `${SCRIPT}/routes`, { body: [] })).slice(0, 2), [401, 10000]);
    assert.deepEqual(await ok("get", `${SCRIPT}/routes`), [route]);
  });
});
