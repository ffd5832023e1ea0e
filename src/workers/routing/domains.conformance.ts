import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import type { CheckDomainAccess } from "./index.ts";
import { A, B, refusal, startRouting } from "./routing.testing.ts";

/** Tests of custom domains, for every database engine. */
export function domainsConformance(engine: TestEngine): void {
  const start = (t: TestContext) => startRouting(t, engine);

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
