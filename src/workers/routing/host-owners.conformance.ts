import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { assert as check, constantFrom, property, tuple } from "fast-check";
import type { TestEngine } from "../../../test/support/databases.ts";
import { A, B, refusal, startRouting } from "./routing.testing.ts";

/** Tests of hosts in zones of several accounts, for every database engine. */
export function hostOwnersConformance(engine: TestEngine): void {
  const start = (t: TestContext) => startRouting(t, engine);

  describe("hosts below a zone of another account", () => {
    const shopZone = { id: "z4", account: B, name: "shop.example.com" };

    test("get no routes or custom domains of the account above", async (t) => {
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

    test("are not matched by routes or custom domains of the account above", async (t) => {
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

    test("are matched only by rules of the account of the closest zone, for any nesting of zones", async (t) => {
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
}
