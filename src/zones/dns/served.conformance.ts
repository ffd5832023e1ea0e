import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock } from "../../kernel/index.ts";
import { migrate } from "../../store/index.ts";
import { zonesMigrations } from "../migrations.ts";
import { openZones, refusal } from "../zones.testing.ts";
import { createCachedZones } from "./cached-zones.ts";
import { findName } from "./nodes.ts";
import { createServedZones } from "./served-zones.ts";

export function servedConformance(engine: TestEngine): void {
  describe("served zones", () => {
    const opened = async (t: TestContext) => {
      const { zones, records, newZone, ...rest } = await openZones(t, engine);
      const zone = await newZone();
      const add = (name: string, type = "A", content = "192.0.2.1", settings = {}) =>
        records.create(zone, { name, type, content, settings });
      return { zones, records, zone, add, served: zones.served, ...rest };
    };

    test("are found by the closest match, and neither a partial zone nor, in its place, its parent is served", async (t) => {
      const { zones, served, zone } = await opened(t);
      const child = await zones.create({ account: zone.account, name: "child.example.com" });
      await zones.create({ account: zone.account, name: "away.example.com", type: "partial" });
      const found = async (name: string) => (await served.find(name))?.name;
      assert.deepEqual(
        [
          await found("example.com"),
          await found("a.b.example.com"),
          await found("x.child.example.com"),
          await found("com"),
          await found("notexample.com"),
          await found(""),
        ],
        ["example.com", "example.com", "child.example.com", undefined, undefined, undefined],
      );
      assert.equal(await found("away.example.com"), undefined);
      await zones.update(child.id, { vanityNameServers: ["ns1.child.example.com"] });
      assert.deepEqual((await served.find("child.example.com"))!.nameServers, ["ns1.child.example.com"]);
      assert.equal(await refusal(zones.delete(child.id)).then(([kind]) => kind), "nothing was refused");
      assert.equal(await found("x.child.example.com"), "example.com");
    });

    test("return names, the names below them, wildcards and delegations", async (t) => {
      const { served, add } = await opened(t);
      for (const name of ["a.b.c", "x-y", "*.wild", "deep.under.wild"]) await add(name);
      await add("sub", "NS", "ns.example.net");
      await add("alias", "CNAME", "x-y.example.com", { flatten_cname: true });
      const zone = (await served.find("example.com"))!;
      for (const [name, occupied] of [
        ["a.b.c", true],
        ["b.c", true],
        ["c", true],
        ["b", false],
        ["x", false],
        ["x-y", true],
        ["wild", true],
        ["under.wild", true],
        ["d.c", false],
        ["\\046.c", false],
      ] as const) {
        assert.equal(await served.occupied(zone, `${name}.example.com`), occupied, name);
      }
      const kind = async (name: string) => (await findName(served, zone, name)).kind;
      assert.deepEqual(
        await Promise.all(
          [
            "c.example.com",
            "q.wild.example.com",
            "q.under.wild.example.com",
            "deep.sub.example.com",
            "nope.example.com",
            "example.com",
          ].map(kind),
        ),
        ["here", "here", "absent", "delegated", "absent", "here"],
      );
      const [record] = await served.records(zone, ["alias.example.com"]);
      assert.deepEqual([record!.data, record!.flatten], [{ target: "x-y.example.com" }, true]);
    });

    test("a cached read includes every change by this process, and changes by others after at most two seconds", async (t) => {
      const { served, records, zone, add, zones } = await opened(t);
      const clock = createManualClock(0);
      let reads = 0;
      const counted = {
        ...served,
        records: (...args: Parameters<typeof served.records>) => (reads++, served.records(...args)),
      };
      const cached = createCachedZones(counted, clock);
      const addresses = async () => {
        const found = await cached.find("www.example.com");
        return found === undefined
          ? "no zone"
          : (await cached.records(found, ["www.example.com"])).map(({ data }) => data.address).join(" ");
      };
      assert.deepEqual([await addresses(), await addresses(), reads], ["", "", 1]);
      const made = await add("www", "A", "192.0.2.7");
      assert.deepEqual(
        [await addresses(), (await cached.find("www.example.com"))!.serial - zone.serial],
        ["192.0.2.7", 1],
      );
      await records.delete(zone, made.id);
      assert.equal(await addresses(), "");
      await zones.delete(zone.id);
      clock.advance(2000);
      assert.equal(await addresses(), "no zone");
    });

    test("records created before the index of reversed names existed are indexed", async (t) => {
      const { db } = await engine.open(
        t,
        zonesMigrations.filter(({ name }) => name < "zones-003"),
      );
      const tables = db.tables<{ dns_records: Record<string, unknown> }>();
      const row = {
        zone_id: "z",
        account_id: "a",
        type: "A",
        content_key: "192.0.2.1",
        priority: null,
        ttl: 1,
        proxied: 0,
        private_routing: 0,
        locked: 0,
        created_at: 0,
        modified_at: 0,
        content: "192.0.2.1",
      };
      const rows = Array.from({ length: 1500 }, (_, index) => ({
        ...row,
        id: `id${index}`,
        digest: `d${index}`,
        name: `h${index}.deep.example.com`,
      }));
      for (let at = 0; at < rows.length; at += 500)
        await tables
          .insertInto("dns_records")
          .values(rows.slice(at, at + 500))
          .execute();
      await migrate(db, zonesMigrations);
      const served = createServedZones({ db, version: () => undefined });
      const zone = { id: "z", name: "example.com", serial: 1, nameServers: [] };
      assert.deepEqual(
        await Promise.all(
          ["deep", "h1499.deep", "h1500.deep"].map((name) => served.occupied(zone, `${name}.example.com`)),
        ),
        [true, true, false],
      );
    });
  });
}
