import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../test/support/databases.ts";
import { ACCOUNT, NAME_SERVERS, openZones, OTHER_ACCOUNT, refusal } from "./zones.testing.ts";
import { randomIds } from "../kernel/index.ts";
import { onPublishedChange } from "../store/index.ts";
import { createZones, ZONE_DELETED } from "./index.ts";
import type { ZoneTables } from "./tables.ts";

const all = { accounts: [ACCOUNT, OTHER_ACCOUNT], zones: [] };
const page = { page: 1, perPage: 50 };

export function zonesConformance(engine: TestEngine): void {
  describe("zones", () => {
    test("are created, read, updated and deleted", async (t) => {
      const { zones, clock, events } = await openZones(t, engine);
      const deleted: string[] = [];
      events.subscribe(ZONE_DELETED, (id) => deleted.push(id));
      const changes: unknown[] = [];
      onPublishedChange(events, (change) => changes.push(change));
      const zone = await zones.create({ account: ACCOUNT, name: "Bücher.Example." });
      assert.deepEqual(
        { ...zone, id: "" },
        {
          id: "",
          account: ACCOUNT,
          name: "xn--bcher-kva.example",
          type: "full",
          status: "active",
          paused: false,
          nameServers: NAME_SERVERS,
          vanityNameServers: [],
          verificationKey: null,
          createdAt: clock.now(),
          modifiedAt: clock.now(),
          activatedAt: clock.now(),
          serial: Math.floor(clock.now() / 1000),
        },
      );
      assert.deepEqual(await zones.get(zone.id), zone);
      const announcement = { topic: "zones", account: ACCOUNT, zone: zone.id, id: zone.id };
      await Promise.resolve();
      assert.deepEqual(changes.splice(0), [announcement]);
      clock.advance(1000);
      const changed = await zones.update(zone.id, { paused: true, vanityNameServers: ["NS1.Vanity.Example"] });
      assert.deepEqual(changed, {
        ...zone,
        paused: true,
        vanityNameServers: ["ns1.vanity.example"],
        modifiedAt: clock.now(),
      });
      assert.deepEqual(await zones.get(zone.id), changed);
      assert.equal((await zones.setStatus(zone.id, "pending")).activatedAt, zone.activatedAt);
      assert.equal((await zones.setStatus(zone.id, "active")).activatedAt, clock.now());
      await zones.delete(zone.id);
      await Promise.resolve();
      assert.deepEqual(
        changes,
        [announcement, announcement, announcement],
        "two changes of the status and the deletion",
      );
      assert.deepEqual(await refusal(zones.get(zone.id)), ["noZone"]);
      assert.deepEqual(await refusal(zones.delete(zone.id)), ["noZone"]);
      assert.deepEqual(await refusal(zones.update(zone.id, { paused: true })), ["noZone"]);
      assert.deepEqual(deleted, [zone.id]);
    });

    test("with the same name exist only once, even if two are created concurrently", async (t) => {
      const { zones } = await openZones(t, engine);
      const made = await Promise.all(
        [1, 2, 3, 4].map(() => refusal(zones.create({ account: ACCOUNT, name: "example.com" }))),
      );
      assert.deepEqual(made.map(([kind]) => kind).sort(), [
        "nothing was refused",
        "zoneExists",
        "zoneExists",
        "zoneExists",
      ]);
      assert.deepEqual(await refusal(zones.create({ account: OTHER_ACCOUNT, name: "EXAMPLE.com" })), ["zoneExists"]);
    });

    test("below a zone of another account are rejected, and those below one of the same account are accepted", async (t) => {
      const { zones, newZone } = await openZones(t, engine);
      const zone = await newZone();
      assert.deepEqual(await refusal(zones.create({ account: OTHER_ACCOUNT, name: "a.b.example.com" })), [
        "othersZone",
      ]);
      const below = await zones.create({ account: ACCOUNT, name: "b.example.com" });
      assert.equal((await zones.byName("x.a.b.example.com", { enclosing: true }))?.id, below.id);
      assert.equal((await zones.byName("x.example.com", { enclosing: true }))?.id, zone.id);
      assert.equal(await zones.byName("x.example.com"), undefined);
    });

    test("require a valid name", async (t) => {
      const { zones } = await openZones(t, engine);
      for (const name of [
        "com",
        "localhost",
        "",
        ".",
        "a..com",
        "192.0.2.1",
        "x.123",
        "-a.com",
        "a_b.com",
        "*.example.com",
        `${"a".repeat(64)}.com`,
        `${"a.".repeat(127)}com`,
        "exa mple.com",
        "ex\u0000.com",
      ]) {
        assert.deepEqual(await refusal(zones.create({ account: ACCOUNT, name })), ["badName"], name);
      }
      for (const name of ["co.uk", "com.au", "org.nz"])
        assert.deepEqual(await refusal(zones.create({ account: ACCOUNT, name })), ["publicSuffix"], name);
      for (const name of ["example.co.uk", "2.0.192.in-addr.arpa", "example.xn--p1ai", "com.de"])
        assert.equal((await zones.create({ account: ACCOUNT, name })).name, name);
      assert.deepEqual(await refusal(zones.create({ account: ACCOUNT, name: "second.example", type: "secondary" })), [
        "unsupportedType",
      ]);
      assert.match(
        (await zones.create({ account: ACCOUNT, name: "partial.example", type: "partial" })).verificationKey!,
        /^\d+-\d+$/,
      );
    });

    test("are listed by the caller's permissions, filters, order and page", async (t) => {
      const { zones } = await openZones(t, engine);
      const made = await Promise.all(
        [
          ["b.test", ACCOUNT],
          ["a.test", ACCOUNT],
          ["c.test", OTHER_ACCOUNT],
          ["d.example", OTHER_ACCOUNT],
        ].map(([name, account]) => zones.create({ name: name!, account: account! })),
      );
      await zones.setStatus(made[0]!.id, "pending");
      const list = async (query: Partial<Parameters<typeof zones.list>[0]>, request = page) => {
        const { items, total } = await zones.list({ visible: all, ...query }, request);
        return [items.map(({ name }) => name).join(" "), total];
      };
      const name = (
        operator: "equal" | "not_equal" | "starts_with" | "ends_with" | "contains",
        text: string,
        caseSensitive = false,
      ) => ({ name: { operator, text, caseSensitive } });
      assert.deepEqual(await list({}), ["a.test b.test c.test d.example", 4]);
      assert.deepEqual(await list({ direction: "desc" }), ["d.example c.test b.test a.test", 4]);
      assert.deepEqual(await list({}, { page: 2, perPage: 3 }), ["d.example", 4]);
      assert.deepEqual(await list({}, { page: 3, perPage: 3 }), ["", 4]);
      assert.deepEqual(await list({ visible: { accounts: [], zones: [] } }), ["", 0]);
      assert.deepEqual(await list({ visible: { accounts: [OTHER_ACCOUNT], zones: [made[0]!.id] } }), [
        "b.test c.test d.example",
        3,
      ]);
      assert.deepEqual(await list(name("equal", "A.test")), ["a.test", 1]);
      assert.deepEqual(await list(name("equal", "A.test", true)), ["", 0]);
      assert.deepEqual(await list(name("not_equal", "a.test")), ["b.test c.test d.example", 3]);
      assert.deepEqual(await list(name("starts_with", "D")), ["d.example", 1]);
      assert.deepEqual(await list(name("starts_with", "D", true)), ["", 0]);
      assert.deepEqual(await list(name("ends_with", ".test")), ["a.test b.test c.test", 3]);
      assert.deepEqual(await list(name("contains", "%")), ["", 0]);
      assert.deepEqual(await list(name("contains", "_")), ["", 0]);
      assert.deepEqual(await list({ status: "pending" }), ["b.test", 1]);
      assert.deepEqual(await list({ status: "pending", ...name("equal", "c.test"), any: true }), ["b.test c.test", 2]);
      assert.deepEqual(await list({ status: "pending", ...name("equal", "c.test") }), ["", 0]);
      assert.deepEqual(await list({ inAccounts: [[OTHER_ACCOUNT]] }), ["c.test d.example", 2]);
      assert.deepEqual(await list({ inAccounts: [[]] }), ["", 0]);
      assert.deepEqual(await list({ types: ["partial"] }), ["", 0]);
      assert.deepEqual(await list({ order: "status" }), ["a.test c.test d.example b.test", 4]);
      assert.deepEqual(await list({ order: "account.id", direction: "desc" }), ["d.example c.test b.test a.test", 4]);
      assert.deepEqual(await list({ order: "account.name", accountOrder: [OTHER_ACCOUNT, ACCOUNT] }), [
        "c.test d.example a.test b.test",
        4,
      ]);
      assert.deepEqual([await zones.count(ACCOUNT), (await zones.idsOf(ACCOUNT, 1)).length], [2, 1]);
    });

    test("report their account in every process until they are deleted", async (t) => {
      const { zones, events, clock, another, newZone } = await openZones(t, engine);
      const zone = await newZone();
      assert.equal(await zones.zoneAccount("0".repeat(32)), undefined);
      assert.equal(await zones.zoneAccount(zone.id), ACCOUNT);
      // This lookup runs during the deletion, so its result must not be cached.
      const [found] = await Promise.all([zones.zoneAccount(zone.id), zones.delete(zone.id)]);
      assert.ok(found === ACCOUNT || found === undefined);
      assert.equal(await zones.zoneAccount(zone.id), undefined);
      const elsewhere = createZones({ db: await another(), clock, ids: randomIds, events, nameServers: [] });
      t.after(async () => elsewhere.close());
      const again = await newZone();
      assert.equal(await elsewhere.zoneAccount(again.id), ACCOUNT);
      await zones.delete(again.id);
      await Promise.resolve();
      assert.equal(await elsewhere.zoneAccount(again.id), undefined);
    });

    test("are deleted together with all their records", async (t) => {
      const { zones, records, newZone, db } = await openZones(t, engine);
      const zone = await newZone();
      await records.create(zone, { type: "A", name: "www", content: "192.0.2.1", tags: ["a:b"] });
      await zones.delete(zone.id);
      const tables = db.tables<ZoneTables>();
      for (const table of ["zones", "dns_records", "dns_record_tags", "dns_record_counts"] as const)
        assert.deepEqual(await tables.selectFrom(table).selectAll().execute(), [], table);
      assert.deepEqual(await refusal(records.create(zone, { type: "A", name: "www", content: "192.0.2.1" })), [
        "noZone",
      ]);
    });
  });
}
