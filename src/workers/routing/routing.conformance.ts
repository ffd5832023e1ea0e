import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { describe, test, type TestContext } from "node:test";
import { assert as check, constantFrom, property, tuple } from "fast-check";
import type { TestEngine } from "../../../test/support/databases.ts";
import { randomIds, silentLog, type Log, type UserError } from "../../kernel/index.ts";
import { createLocalEvents, type Db } from "../../store/index.ts";
import {
  createWorkerRouting,
  routingMigrations,
  type CheckDomainAccess,
  type RoutingZone,
  type WantedDomain,
} from "./index.ts";

const A = "a".repeat(32);
const B = "b".repeat(32);
const refusal = (kind: string) => (error: UserError) => {
  if (error.kind !== kind) throw error;
  return true;
};

/** Tests of routes and custom domains, for every database engine. */
export function routingConformance(engine: TestEngine): void {
  async function start(t: TestContext) {
    const scope = { after: (end: () => Promise<void>) => void t.after(end) };
    const { db, another: openAnother } = await engine.open(scope, routingMigrations);
    const events = createLocalEvents({ log: silentLog });
    t.after(() => events.close());
    const zones = new Map<string, RoutingZone>();
    for (const [id, account, name] of [
      ["z1", A, "example.com"],
      ["z2", A, "sub.example.com"],
      ["z3", B, "other.example"],
    ])
      zones.set(id!, { id: id!, account: account!, name: name! });
    /** `published`: the hosts of published DNS records by zone. `conflicting`: hosts with other records. */
    const published = new Map<string, readonly string[]>();
    const conflicting = new Set<string>();
    let isBroken = false;
    const closestZone = (host: string) =>
      [...zones.values()]
        .filter(({ name }) => host === name || host.endsWith(`.${name}`))
        .sort((a, b) => b.name.length - a.name.length)[0];
    const warnings: unknown[][] = [];
    const log: Log = { ...silentLog, warn: (...words: unknown[]) => void warnings.push(words) };
    const open = (onDb: Db, hasApiHost = true) => {
      const routing = createWorkerRouting({
        db: onDb,
        events,
        zones: {
          find: async (id) => zones.get(id),
          findEnclosing: async (host) => closestZone(host),
          conflicts: async (_zone, hosts) => hosts.filter((host) => conflicting.has(host)),
          async publish({ id }, hosts) {
            if (isBroken) throw new Error("DNS does not work");
            published.set(id, hosts);
          },
        },
        owners: { find: (host) => closestZone(host)?.account },
        zoneDeletedTopic: "zone-deleted",
        hasScript: async (_account, name) => name !== "absent",
        schemeOf: ({ headers }) => (headers["x-forwarded-proto"] === "https" ? "https" : "http"),
        hasApiHost,
        ids: randomIds,
        log,
      });
      t.after(() => routing.close());
      return routing;
    };
    const routing = open(db);
    await routing.load();
    const scriptAt = (url: string, from = routing) => {
      const { host, pathname, search } = new URL(url);
      const ref = from.match({ headers: { host }, url: pathname + search } as IncomingMessage);
      assert.ok(!(ref instanceof Promise));
      return ref?.script;
    };
    const { attach, detach, replace, validate, ...domains } = routing.domains;
    const anyone = () => {};
    return {
      ...routing,
      /** As a caller who may change everything, by default. */
      domains: {
        ...domains,
        attach: (account: string, script: string, domain: WantedDomain, check: CheckDomainAccess = anyone) =>
          attach(account, script, domain, check),
        detach: (account: string, id: string, check: CheckDomainAccess = anyone) => detach(account, id, check),
        replace: (
          account: string,
          script: string,
          wanted: readonly WantedDomain[],
          override: { origins: boolean; records: boolean },
          check: CheckDomainAccess = anyone,
        ) => replace(account, script, wanted, override, check),
        validate: (
          account: string,
          script: string,
          wanted: readonly WantedDomain[],
          override: { origins: boolean; records: boolean },
          check: CheckDomainAccess = anyone,
        ) => validate(account, script, wanted, override, check),
      },
      db,
      at: scriptAt,
      zones,
      events,
      published,
      conflicting,
      breakDns: (value: boolean) => void (isBroken = value),
      another: async (hasApiHost?: boolean) => open(await openAnother(), hasApiHost),
      warnings,
    };
  }

  describe("routes", () => {
    test("have unique patterns within a zone; a route without a worker overrides other routes", async (t) => {
      const { routes, at } = await start(t);
      const { id } = await routes.create("z1", { pattern: "example.com/*", script: "one" });
      await assert.rejects(routes.create("z1", { pattern: "EXAMPLE.com/*", script: "two" }), refusal("routeExists"));
      await assert.rejects(routes.create("z1", { pattern: "other.example/", script: "two" }), refusal("outsideZone"));
      await assert.rejects(routes.create("z9", { pattern: "example.com/", script: "two" }), refusal("zoneMissing"));
      await assert.rejects(
        routes.create("z1", { pattern: "example.com/x", script: "absent" }),
        refusal("routeScriptMissing"),
      );
      const disablingRoute = await routes.create("z1", { pattern: "example.com/off*", script: undefined });
      assert.deepEqual([at("http://example.com/a?b"), at("http://example.com:8787/off/x")], ["one", undefined]);
      assert.equal(at("http://www.example.com/"), undefined);
      await routes.update("z1", disablingRoute.id, { pattern: "*example.com/*", script: "two" });
      assert.deepEqual([at("http://www.example.com/"), at("http://example.com/off")], ["two", "one"]);
      await assert.rejects(
        routes.update("z1", disablingRoute.id, { pattern: "example.com/*", script: "two" }),
        refusal("routeExists"),
      );
      await routes.delete("z1", id);
      assert.equal(at("http://example.com/"), "two");
      await assert.rejects(routes.delete("z1", id), refusal("routeMissing"));
      await assert.rejects(routes.get("z2", disablingRoute.id), refusal("routeMissing"));
    });

    test("follow their worker when it is renamed, as custom domains do, also in another process", async (t) => {
      const { routes, domains, references, db, at, another } = await start(t);
      await routes.create("z1", { pattern: "example.com/*", script: "one" });
      await routes.create("z1", { pattern: "example.com/two", script: "two" });
      await routes.create("z3", { pattern: "other.example/*", script: "one" });
      await domains.attach(A, "one", { hostname: "www.example.com" });
      const other = await another();
      await other.load();
      const rename = (from: string, to: string) =>
        db.transaction((tx) => references.rename(tx, { account: A, from, to }));
      await (
        await rename("one", "renamed")
      )();
      await other.load();
      for (const from of [undefined, other])
        assert.deepEqual(
          ["example.com/", "example.com/two", "www.example.com/", "other.example/"].map((url) =>
            at(`http://${url}`, from),
          ),
          ["renamed", "two", "renamed", "one"],
        );
      assert.deepEqual(
        (await domains.list(A)).map(({ hostname, script }) => [hostname, script]),
        [["www.example.com", "renamed"]],
      );
      // A new worker of the former name has no routes.
      assert.deepEqual(await routes.listByScript(A, "one"), []);
      assert.equal((await routes.listByScript(A, "renamed")).length, 1);
    });

    test("are replaced completely or not at all for each worker", async (t) => {
      const { routes, at } = await start(t);
      await routes.create("z1", { pattern: "example.com/theirs", script: "other" });
      const workerRoutes = await routes.replace(A, "one", [
        { pattern: "example.com/a" },
        { pattern: "x.sub.example.com/*" },
      ]);
      assert.deepEqual(
        workerRoutes.map(({ pattern, zoneName }) => [pattern, zoneName]),
        [
          ["example.com/a", "example.com"],
          ["x.sub.example.com/*", "sub.example.com"],
        ],
      );
      for (const [rejectedRoute, kind] of [
        [{ pattern: "example.com/theirs" }, "routeExists"],
        [{ pattern: "other.example/*" }, "zoneMissing"],
        [{ pattern: "example.com/*", zoneName: "sub.example.com" }, "zoneMissing"],
        [{ pattern: "example.com/*", zoneId: "z3" }, "zoneMissing"],
        [{ pattern: "nowhere.example/*" }, "zoneMissing"],
        [{ pattern: "*" }, "badPattern"],
      ] as const)
        await assert.rejects(
          routes.replace(A, "one", [{ pattern: "example.com/b" }, rejectedRoute]),
          refusal(kind),
          kind,
        );
      assert.deepEqual(await routes.listByScript(A, "one"), workerRoutes);
      const replacedRoutes = await routes.replace(A, "one", [
        { pattern: "example.com/c" },
        { pattern: "example.com/a" },
      ]);
      assert.equal(replacedRoutes.find(({ pattern }) => pattern === "example.com/a")?.id, workerRoutes[0]!.id);
      assert.deepEqual([at("http://x.sub.example.com/"), at("http://example.com/c")], [undefined, "one"]);
      assert.deepEqual(await routes.replace(A, "one", []), []);
      assert.equal(at("http://example.com/theirs"), "other");
    });

    test("are limited to 1000 per zone", async (t) => {
      const { routes } = await start(t);
      const maxRoutes = Array.from({ length: 1000 }, (_, i) => ({ pattern: `example.com/${i}` }));
      await routes.replace(A, "one", maxRoutes);
      await assert.rejects(routes.create("z1", { pattern: "example.com/x", script: "one" }), refusal("tooManyRoutes"));
      await assert.rejects(
        routes.replace(A, "one", [...maxRoutes, { pattern: "example.com/x" }]),
        refusal("tooManyRoutes"),
      );
      assert.equal((await routes.list("z1")).length, 1000);
    });

    test("apply in every process, and are deleted with their zone", async (t) => {
      const { routes, domains, zones, events, at, another } = await start(t);
      const otherProcess = await another();
      await routes.create("z1", { pattern: "example.com/*", script: "one" });
      await domains.attach(A, "two", { hostname: "www.example.com" });
      await otherProcess.load();
      assert.deepEqual(
        [at("http://example.com/", otherProcess), at("http://www.example.com/", otherProcess)],
        ["one", "two"],
      );
      zones.delete("z1");
      events.publish("zone-deleted", "z1");
      while ((await routes.list("z1")).length > 0 || (await domains.list(A)).length > 0)
        await new Promise((resolve) => void setImmediate(resolve));
      assert.equal(at("http://example.com/"), undefined);
    });

    test("do not apply while the hosts of the API are unknown, with one warning", async (t) => {
      const { routes, domains, at, another, warnings } = await start(t);
      const unconfigured = await another(false);
      await unconfigured.load();
      assert.deepEqual(warnings, []);
      await routes.create("z1", { pattern: "api.example.com/*", script: "one" });
      await domains.attach(A, "one", { hostname: "www.example.com" });
      await unconfigured.load();
      await unconfigured.load();
      assert.equal(warnings.length, 1);
      for (const host of ["api.example.com", "www.example.com"])
        assert.deepEqual([at(`http://${host}/`), at(`http://${host}/`, unconfigured)], ["one", undefined], host);
    });

    test("are deleted at start if their zone no longer exists", async (t) => {
      const { routes, zones, load, at } = await start(t);
      await routes.create("z1", { pattern: "example.com/*", script: "one" });
      zones.delete("z1");
      await load();
      assert.equal(at("http://example.com/"), undefined);
      assert.deepEqual(await routes.list("z1"), []);
    });
  });

  describe("hosts below a zone of another account", () => {
    const shopZone = { id: "z4", account: B, name: "shop.example.com" };

    test("get no routes and custom domains of the account above", async (t) => {
      const { routes, domains, zones, published } = await start(t);
      const before = await routes.create("z1", { pattern: "example.com/*", script: "one" });
      zones.set("z4", shopZone);
      for (const pattern of [
        "shop.example.com/*",
        "www.shop.example.com/",
        "*.shop.example.com/*",
        "*shop.example.com/*",
        "https://*.api.shop.example.com/*",
      ]) {
        for (const script of ["one", undefined]) {
          await assert.rejects(routes.create("z1", { pattern, script }), refusal("othersZone"), pattern);
          await assert.rejects(routes.update("z1", before.id, { pattern, script }), refusal("othersZone"), pattern);
        }
        for (const [zone, kind] of [
          [{ zoneId: "z1" }, "othersZone"],
          [{ zoneName: "example.com" }, "othersZone"],
          [{ zoneId: "z4" }, "zoneMissing"],
          [{}, "zoneMissing"],
        ] as const)
          await assert.rejects(routes.replace(A, "one", [{ pattern, ...zone }]), refusal(kind), pattern);
      }
      for (const hostname of ["shop.example.com", "a.b.shop.example.com"])
        for (const [zone, kind] of [
          [{ zoneId: "z1" }, "othersZone"],
          [{ zoneName: "example.com" }, "othersZone"],
          [{}, "zoneMissing"],
        ] as const) {
          await assert.rejects(domains.attach(A, "one", { hostname, ...zone }), refusal(kind), hostname);
          await assert.rejects(domains.plan(A, "one", [{ hostname, ...zone }]), refusal(kind), hostname);
        }
      assert.deepEqual(await routes.list("z1"), [before]);
      assert.deepEqual([await domains.list(A), published.get("z1")], [[], undefined]);
      await routes.create("z1", { pattern: "myshop.example.com/*", script: "one" });
    });

    test("are not matched by routes and custom domains of the account above", async (t) => {
      const { routes, domains, zones, at } = await start(t);
      await routes.create("z1", { pattern: "*example.com/*", script: "above" });
      await routes.create("z1", { pattern: "pay.shop.example.com/*", script: undefined });
      await domains.attach(A, "above", { hostname: "www.shop.example.com" });
      const hosts = [
        "example.com",
        "myshop.example.com",
        "shop.example.com",
        "www.shop.example.com",
        "x.sub.example.com",
      ];
      const scripts = () => hosts.map((host) => at(`http://${host}/a`));
      assert.deepEqual(scripts(), ["above", "above", "above", "above", "above"]);
      zones.set("z4", shopZone);
      assert.deepEqual(scripts(), ["above", "above", undefined, undefined, "above"]);
      await routes.create("z4", { pattern: "*.shop.example.com/*", script: "below" });
      assert.deepEqual(scripts(), ["above", "above", undefined, "below", "above"]);
      // The route that disables workers is more specific, but belongs to the account above.
      assert.equal(at("http://pay.shop.example.com/"), "below");
      zones.delete("z4");
      assert.deepEqual(scripts(), ["above", "above", "above", "above", "above"]);
      assert.equal(at("http://pay.shop.example.com/"), undefined);
    });

    test("are matched by rules of the account of the closest zone only, for any nesting of zones", async (t) => {
      const { routes, zones, at } = await start(t);
      const names = ["a.b.c.test", "b.c.test", "c.test"];
      const zoneOf = (account: string, name: string) => ({ id: `${account[0]}-${name}`, account, name });
      for (const account of [A, B])
        for (const name of names) {
          const zone = zoneOf(account, name);
          zones.clear();
          zones.set(zone.id, zone);
          await routes.create(zone.id, { pattern: `*${name}/*`, script: account });
        }
      const owner = constantFrom(A, B, undefined);
      check(
        property(tuple(owner, owner, owner), (accounts) => {
          zones.clear();
          for (const [i, account] of accounts.entries())
            if (account !== undefined) zones.set(`${i}`, zoneOf(account, names[i]!));
          for (const [i, name] of names.entries()) {
            const closest = accounts.slice(i).find((account) => account !== undefined);
            for (const host of [name, `x.${name}`]) assert.equal(at(`http://${host}/`), closest, host);
          }
        }),
      );
    });
  });

  describe("custom domains", () => {
    test("have DNS records, move between workers of an account, and are overridden by routes", async (t) => {
      const { routes, domains, at, published, removeScript } = await start(t);
      const attached = await domains.attach(A, "one", { hostname: "App.Example.com." });
      assert.deepEqual([attached.hostname, attached.zone, attached.enabled], ["app.example.com", "z1", true]);
      assert.deepEqual(published.get("z1"), ["app.example.com"]);
      assert.equal(at("http://app.example.com/any?x"), "one");
      const movedDomain = await domains.attach(A, "two", { hostname: "app.example.com" });
      assert.deepEqual([movedDomain.id, at("http://app.example.com/")], [attached.id, "two"]);
      await routes.create("z1", { pattern: "app.example.com/api/*", script: "api" });
      await routes.create("z1", { pattern: "app.example.com/plain*", script: undefined });
      assert.deepEqual(
        ["/api/x", "/plain", "/"].map((path) => at(`http://app.example.com${path}`)),
        ["api", "two", "two"],
      );
      await removeScript(A, "two");
      assert.deepEqual(
        [await domains.list(A), published.get("z1"), at("http://app.example.com/")],
        [[], [], undefined],
      );
      await removeScript(A, "api");
      assert.equal(at("http://app.example.com/api/x"), undefined);
    });

    test("of another account cannot be taken by a worker of the same name", async (t) => {
      const { domains, zones } = await start(t);
      zones.set("z4", { id: "z4", account: B, name: "shop.example.com" });
      const theirDomain = await domains.attach(B, "shop", { hostname: "www.shop.example.com", zoneId: "z4" });
      await assert.rejects(
        domains.replace(A, "shop", [{ hostname: "www.shop.example.com", zoneId: "z1" }], {
          origins: true,
          records: true,
        }),
        refusal("othersZone"),
      );
      // A domain whose zone no longer exists.
      zones.delete("z4");
      await assert.rejects(
        domains.replace(A, "shop", [{ hostname: "www.shop.example.com" }], { origins: true, records: true }),
        refusal("domainTaken"),
      );
      assert.deepEqual(await domains.list(B), [theirDomain]);
    });

    test("are replaced together with their DNS records, completely or not at all", async (t) => {
      const { domains, published, conflicting, breakDns, at } = await start(t);
      const noOverride = { origins: false, records: false };
      await domains.replace(
        A,
        "one",
        [{ hostname: "a.example.com" }, { hostname: "b.sub.example.com", enabled: false }],
        noOverride,
      );
      assert.deepEqual([published.get("z1"), published.get("z2")], [["a.example.com"], []]);
      assert.equal(at("http://b.sub.example.com/"), undefined);
      const before = await domains.list(A);
      await domains.attach(A, "two", { hostname: "two.example.com" });
      conflicting.add("used.example.com");
      const newDomain = { hostname: "c.example.com" };
      for (const [wanted, kind] of [
        [{ hostname: "two.example.com" }, "domainTaken"],
        [{ hostname: "used.example.com" }, "recordsExist"],
        [{ hostname: "x.other.example" }, "zoneMissing"],
        [{ hostname: "*.example.com" }, "badHostname"],
        [newDomain, "badHostname"],
      ] as const) {
        await assert.rejects(domains.replace(A, "one", [newDomain, wanted], noOverride), refusal(kind), kind);
        await assert.rejects(domains.validate(A, "new", [newDomain, wanted], noOverride), refusal(kind), kind);
      }
      breakDns(true);
      await assert.rejects(domains.replace(A, "one", [newDomain], noOverride), /DNS does not work/);
      breakDns(false);
      assert.deepEqual(await domains.list(A, { script: "one" }), before);
      assert.equal(at("http://c.example.com/"), undefined);
      const allDomains = [newDomain, { hostname: "two.example.com" }, { hostname: "used.example.com" }];
      await domains.replace(A, "one", allDomains, { origins: true, records: true });
      const hosts = ["c.example.com", "two.example.com", "used.example.com"];
      assert.deepEqual(
        await domains.enabledHosts(),
        hosts.map((host) => ({ host, account: A })),
      );
      assert.deepEqual([...published.get("z1")!].sort(), hosts);
      assert.deepEqual(published.get("z2"), []);
    });

    test("are changed only with access to each zone in which something changes", async (t) => {
      const { domains, conflicting } = await start(t);
      const { id } = await domains.attach(A, "one", { hostname: "a.example.com" });
      let checks: string[] = [];
      const record: CheckDomainAccess = ({ id: zone, account }, what) => {
        assert.equal(account, A);
        checks.push(`${zone} ${what}`);
      };
      const refuse: CheckDomainAccess = () => {
        throw new Error("no access");
      };
      const checksOf = async (change: Promise<unknown>) => {
        checks = [];
        await change;
        return checks.toSorted();
      };
      const keep = { origins: false, records: false };
      const override = { origins: true, records: true };
      const a = { hostname: "a.example.com" };
      const sub = { hostname: "b.sub.example.com" };
      assert.deepEqual(await checksOf(domains.replace(A, "one", [a], keep, record)), []);
      assert.deepEqual(await checksOf(domains.validate(A, "one", [sub], keep, record)), ["z1 domains", "z2 domains"]);
      assert.deepEqual(await checksOf(domains.replace(A, "one", [a, sub], keep, record)), ["z2 domains"]);
      conflicting.add("b.sub.example.com");
      assert.deepEqual(await checksOf(domains.replace(A, "one", [a, sub], override, record)), ["z2 records"]);
      assert.deepEqual(await checksOf(domains.attach(A, "two", a, record)), ["z1 domains"]);
      const before = await domains.list(A);
      for (const change of [
        () => domains.attach(A, "one", a, refuse),
        () => domains.attach(A, "one", { hostname: "new.example.com" }, refuse),
        () => domains.detach(A, id, refuse),
        () => domains.replace(A, "one", [], keep, refuse),
        () => domains.replace(A, "one", [sub], override, refuse),
        () => domains.validate(A, "one", [a], override, refuse),
      ])
        await assert.rejects(change(), /no access/);
      assert.deepEqual(await domains.list(A), before);
      assert.deepEqual(await checksOf(domains.detach(A, id, record)), ["z1 domains"]);
    });

    test("belong to the account that owns the zone", async (t) => {
      const { domains } = await start(t);
      const { id } = await domains.attach(B, "one", { hostname: "other.example" });
      await assert.rejects(domains.get(A, id), refusal("domainMissing"));
      await assert.rejects(domains.detach(A, id), refusal("domainMissing"));
      await assert.rejects(domains.attach(A, "one", { hostname: "other.example" }), refusal("zoneMissing"));
      await assert.rejects(domains.attach(B, "absent", { hostname: "x.other.example" }), refusal("routeScriptMissing"));
      await domains.detach(B, id);
      assert.deepEqual(await domains.list(B), []);
    });
  });
}
