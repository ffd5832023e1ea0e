import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import type { ZoneTables } from "../tables.ts";
import { openZones, refusal } from "../zones.testing.ts";
import { RECORDS_CHANGED } from "./change.ts";
import type { RecordQuery } from "./list-table.ts";
import type { RecordRequest } from "./types.ts";

const page = { page: 1, perPage: 100 };
const a = (name: string, content = "192.0.2.1", more: Partial<RecordRequest> = {}): RecordRequest => ({
  type: "A",
  name,
  content,
  ...more,
});
const txt = (name: string, content: string, more: Partial<RecordRequest> = {}): RecordRequest => ({
  type: "TXT",
  name,
  content,
  ...more,
});

export function recordsConformance(engine: TestEngine): void {
  describe("records", () => {
    test("are created, read, updated and deleted", async (t) => {
      const { records, newZone, clock, events } = await openZones(t, engine);
      const zone = await newZone();
      let changes = 0;
      events.subscribe(RECORDS_CHANGED, (id) => void (id === zone.id && changes++));
      const made = await records.create(zone, {
        type: "mx",
        name: "@",
        content: "Mail.Example.net.",
        priority: 10,
        ttl: 3600,
        comment: " primary ",
        tags: ["team:mail"],
      });
      assert.deepEqual(
        { ...made, id: "" },
        {
          id: "",
          zone: zone.id,
          account: zone.account,
          type: "MX",
          name: "example.com",
          content: "mail.example.net",
          written: null,
          priority: 10,
          data: null,
          ttl: 3600,
          proxied: false,
          privateRouting: false,
          settings: null,
          comment: "primary",
          tags: ["team:mail"],
          createdAt: clock.now(),
          modifiedAt: clock.now(),
          commentAt: clock.now(),
          tagsAt: clock.now(),
          managedBy: null,
          locked: false,
          meta: null,
        },
      );
      assert.deepEqual(await records.get(zone.id, made.id), made);
      const before = clock.now();
      clock.advance(1000);
      const patched = await records.update(zone, made.id, { priority: 20, comment: null });
      assert.deepEqual(patched, { ...made, priority: 20, comment: null, commentAt: null, modifiedAt: clock.now() });
      assert.equal(patched.tagsAt, before);
      const replaced = await records.replace(zone, made.id, {
        type: "SRV",
        name: "_sip._tcp",
        data: { priority: 1, weight: 2, port: 5060, target: "sip.example.net" },
      });
      assert.deepEqual(
        [replaced.type, replaced.name, replaced.content, replaced.priority, replaced.ttl, replaced.tags, replaced.data],
        [
          "SRV",
          "_sip._tcp.example.com",
          "2 5060 sip.example.net",
          1,
          1,
          [],
          { priority: 1, weight: 2, port: 5060, target: "sip.example.net" },
        ],
      );
      const moved = await records.update(zone, made.id, { data: { port: 5061 } });
      assert.deepEqual(
        [moved.content, moved.data],
        ["2 5061 sip.example.net", { priority: 1, weight: 2, port: 5061, target: "sip.example.net" }],
      );
      assert.deepEqual((await records.update(zone, made.id, { type: "TXT", content: "hello" })).content, '"hello"');
      assert.deepEqual(await records.usage(zone.id), { records: 1, quota: null });
      await records.delete(zone, made.id);
      assert.deepEqual(await refusal(records.get(zone.id, made.id)), ["noRecord"]);
      for (const work of [
        records.delete(zone, made.id),
        records.update(zone, made.id, {}),
        records.replace(zone, made.id, a("x")),
      ])
        assert.deepEqual(await refusal(work), ["noRecord"]);
      await Promise.resolve();
      assert.equal(changes, 6);
      assert.deepEqual(await records.usage(zone.id), { records: 0, quota: null });
    });

    test("of a different zone are not found", async (t) => {
      const { records, newZone } = await openZones(t, engine);
      const [one, other] = [await newZone("one.test"), await newZone("other.test")];
      const { id } = await records.create(one, a("www"));
      assert.deepEqual(await refusal(records.get(other.id, id)), ["noRecord"]);
      assert.deepEqual(await refusal(records.delete(other, id)), ["noRecord"]);
      assert.equal((await records.list(other.id, {}, page)).total, 0);
    });

    test("increase the serial of their zone", async (t) => {
      const { zones, records, newZone } = await openZones(t, engine);
      const zone = await newZone();
      const record = await records.create(zone, a("www"));
      await records.delete(zone, record.id);
      assert.equal((await zones.get(zone.id)).serial, zone.serial + 2);
    });

    test("reject duplicates in any notation", async (t) => {
      const { records, newZone } = await openZones(t, engine);
      const zone = await newZone();
      const made = await Promise.all([1, 2, 3, 4, 5].map(() => refusal(records.create(zone, a("www")))));
      assert.deepEqual(made.map(([kind]) => kind).sort(), [
        "identical",
        "identical",
        "identical",
        "identical",
        "nothing was refused",
      ]);
      assert.deepEqual(await refusal(records.create(zone, a("WWW.Example.com."))), ["identical"]);
      assert.deepEqual(await refusal(records.create(zone, a("www", "192.0.2.2"))), ["nothing was refused"]);
      await records.create(zone, txt("t", "same text"));
      assert.deepEqual(await refusal(records.create(zone, txt("t", '"same text"'))), ["identical"]);
      assert.deepEqual(await refusal(records.create(zone, txt("t", "Same text"))), ["nothing was refused"]);
      const { id } = await records.create(zone, a("moving"));
      assert.deepEqual(await refusal(records.update(zone, id, { name: "www" })), ["identical"]);
      assert.equal((await records.update(zone, id, { ttl: 60 })).ttl, 60);
    });

    test("reject conflicting records", async (t) => {
      const { records, newZone } = await openZones(t, engine);
      const zone = await newZone();
      const cname = (name: string, content = "x.example.net"): RecordRequest => ({ type: "CNAME", name, content });
      const ns = (name: string): RecordRequest => ({ type: "NS", name, content: "ns.example.net" });
      const ds: RecordRequest = {
        type: "DS",
        name: "child",
        data: { key_tag: 1, algorithm: 8, digest_type: 9, digest: "ab" },
      };
      const steps: [RecordRequest, string][] = [
        [a("www"), "nothing was refused"],
        [cname("www"), "addressExists"],
        [cname("alias"), "nothing was refused"],
        [cname("alias", "y.example.net"), "addressExists"],
        [a("alias"), "cnameExists"],
        [txt("alias", "x"), "cnameExists"],
        [txt("text", "x"), "nothing was refused"],
        [cname("text"), "hostTaken"],
        [ns("child"), "nothing was refused"],
        [ds, "nothing was refused"],
        [a("child"), "nsExists"],
        [ns("www"), "hostTaken"],
        [cname("child"), "hostTaken"],
        [txt("@", "v=spf1 -all"), "nothing was refused"],
        [cname("@"), "nothing was refused"],
        [a("@"), "cnameExists"],
        [ns("@"), "nothing was refused"],
        [{ type: "MX", name: "@", content: "m.example.net", priority: 1 }, "nothing was refused"],
        [cname("*"), "nothing was refused"],
        [a("*"), "cnameExists"],
        [a("any.thing"), "nothing was refused"],
      ];
      for (const [request, expected] of steps)
        assert.deepEqual((await refusal(records.create(zone, request)))[0], expected, JSON.stringify(request));
    });

    test("accept NS and DS of a delegation in any order", async (t) => {
      const { records, newZone } = await openZones(t, engine);
      const zone = await newZone();
      const ns: RecordRequest = { type: "NS", name: "child", content: "ns.example.net" };
      await records.create(zone, {
        type: "DS",
        name: "child",
        data: { key_tag: 1, algorithm: 8, digest_type: 9, digest: "ab" },
      });
      assert.deepEqual(await refusal(records.create(zone, ns)), ["nothing was refused"]);
      assert.deepEqual(await refusal(records.create(zone, { ...ns, content: "ns2.example.net" })), [
        "nothing was refused",
      ]);
      assert.deepEqual((await refusal(records.create(zone, txt("child", "x"))))[0], "nsExists");
      await records.create(zone, { ...ns, name: "second" });
      const ds = { type: "DS", data: { key_tag: 1, algorithm: 8, digest_type: 9, digest: "ab" } };
      assert.deepEqual(await refusal(records.create(zone, { ...ds, name: "second" })), ["nothing was refused"]);
      // At the zone apex, CNAME and address records exclude each other.
      await records.create(zone, a("@"));
      assert.deepEqual(
        (await refusal(records.create(zone, { type: "CNAME", name: "@", content: "x.example.net" })))[0],
        "addressExists",
      );
    });

    test("are limited by a quota", async (t) => {
      const { records, newZone } = await openZones(t, engine, { recordQuota: 2 });
      const zone = await newZone();
      await records.create(zone, a("a"));
      await records.create(zone, a("b"));
      assert.deepEqual(await refusal(records.create(zone, a("c"))), ["quotaExceeded"]);
      assert.deepEqual(await records.usage(zone.id), { records: 2, quota: 2 });
    });

    test("are listed in order, by page and by filter", async (t) => {
      const { records, newZone } = await openZones(t, engine);
      const zone = await newZone();
      await records.create(
        zone,
        a("b", "192.0.2.2", {
          ttl: 120,
          proxied: true,
          comment: "Ünder 50% off",
          tags: ["team:DNS", "greeting:Hello, world"],
        }),
      );
      await records.create(zone, a("a", "192.0.2.9", { ttl: 300, tags: ["important:", "team:mail"] }));
      await records.create(zone, txt("c_x", "v=spf1 -all", { ttl: 60, comment: "spf" }));
      await records.create(zone, { type: "NS", name: "child", content: "ns.example.net" });
      await records.create(zone, a("deep.child", "192.0.2.3"));
      const list = async (query: RecordQuery, request = page) => {
        const { items, total } = await records.list(zone.id, query, request);
        const names = items.map(({ name }) => name.replace(".example.com", ""));
        assert.ok(request !== page || names.length === total, "the total is that of the filtered list");
        return names.join(" ");
      };
      const tag = (filter: object) => ({
        tags: [
          {
            present: undefined,
            absent: undefined,
            exact: undefined,
            contains: undefined,
            startswith: undefined,
            endswith: undefined,
            ...filter,
          },
        ],
      });
      const expected: [RecordQuery, string][] = [
        [{}, "a b deep.child child c_x"],
        [{ direction: "desc" }, "c_x child deep.child b a"],
        [{ order: "name" }, "a b c_x child deep.child"],
        [{ order: "content" }, "c_x b deep.child a child"],
        [
          { order: "proxied", direction: "desc", type: "A" },
          (await records.list(zone.id, { order: "proxied", direction: "desc", type: "A" }, page)).items
            .map(({ name }) => name.replace(".example.com", ""))
            .join(" "),
        ],
        [{ type: "A" }, "a b deep.child"],
        [{ name: { exact: "A.example.com" } }, "a"],
        [{ name: { contains: "_" } }, "c_x"],
        [{ name: { startswith: "DEEP" } }, "deep.child"],
        [{ name: { endswith: "child.example.com" } }, "deep.child child"],
        [{ content: { exact: "192.0.2.9" } }, "a"],
        [{ content: { exact: "v=spf1 -all" } }, "c_x"],
        [{ content: { exact: '"V=SPF1 -all"' } }, "c_x"],
        [{ content: { contains: "SPF1" } }, "c_x"],
        [{ content: { startswith: "192.0.2." } }, "a b deep.child"],
        [{ content: { endswith: ".3" } }, "deep.child"],
        [{ comment: { exact: "ünder 50% OFF" } }, "b"],
        [{ comment: { contains: "0%" } }, "b"],
        [{ comment: { contains: "5_%" } }, ""],
        [{ comment: { present: true } }, "b c_x"],
        [{ comment: { absent: true } }, "a deep.child child"],
        [{ proxied: true }, "b"],
        [{ search: "SPF" }, "c_x"],
        [{ search: "under" }, ""],
        [{ search: "ÜNDER" }, "b"],
        [{ type: "TXT", proxied: true }, ""],
        [{ type: "TXT", proxied: true, any: true }, "b c_x"],
        [{ type: "TXT", proxied: true, any: true, search: "spf" }, "c_x"],
        [tag({ present: "TEAM" }), "a b"],
        [tag({ absent: "team" }), "deep.child child c_x"],
        [tag({ exact: { name: "team", value: "dns" } }), "b"],
        [tag({ contains: { name: "greeting", value: "o, w" } }), "b"],
        [tag({ startswith: { name: "greeting", value: "hello" } }), "b"],
        [tag({ endswith: { name: "greeting", value: "hello" } }), ""],
        [tag({ present: "important" }), "a"],
        [{ tags: [...tag({ present: "important" }).tags, ...tag({ exact: { name: "team", value: "dns" } }).tags] }, ""],
        [
          {
            tags: [...tag({ present: "important" }).tags, ...tag({ exact: { name: "team", value: "dns" } }).tags],
            anyTag: true,
          },
          "a b",
        ],
        [{ shadowedBy: "child.example.com" }, "deep.child"],
        [{ nsAt: ["deep.child.example.com", "child.example.com"] }, "child"],
        [{ nsAt: [] }, ""],
      ];
      for (const [query, names] of expected) assert.equal(await list(query), names, JSON.stringify(query));
      assert.equal(
        await list({ order: "ttl" }, { page: 1, perPage: 10 }),
        (await list({ order: "ttl", direction: "desc" }, { page: 1, perPage: 10 })).split(" ").reverse().join(" "),
      );
      assert.deepEqual(
        [
          await list({}, { page: 2, perPage: 2 }),
          await list({}, { page: 3, perPage: 2 }),
          await list({}, { page: 4, perPage: 2 }),
          await list({ order: "name" }, { page: 9, perPage: 2 }),
        ],
        ["deep.child child", "c_x", "", ""],
      );
    });

    test("of a batch are changed in order and atomically", async (t) => {
      const { records, newZone } = await openZones(t, engine);
      const zone = await newZone();
      const [one, two, three] = [
        await records.create(zone, a("one")),
        await records.create(zone, a("two")),
        await records.create(zone, a("three")),
      ];
      const done = await records.batch(zone, {
        deletes: [one.id],
        patches: [{ id: two.id, change: { name: "one" } }],
        puts: [{ id: three.id, request: a("two", "192.0.2.7") }],
        posts: [a("three"), txt("three", "x")],
      });
      assert.deepEqual(
        Object.entries(done).map(([kind, list]) => [kind, list.map(({ name }) => name.split(".")[0])]),
        [
          ["deletes", ["one"]],
          ["patches", ["one"]],
          ["puts", ["two"]],
          ["posts", ["three", "three"]],
        ],
      );
      assert.deepEqual((await records.usage(zone.id)).records, 4);
      const before = await records.list(zone.id, {}, page);
      const none = { deletes: [], patches: [], puts: [], posts: [] };
      assert.deepEqual(
        await refusal(records.batch(zone, { ...none, deletes: [two.id], posts: [a("new"), a("new")] })),
        ["identical"],
      );
      assert.deepEqual(await refusal(records.batch(zone, { ...none, deletes: [two.id, two.id] })), ["noRecord"]);
      assert.deepEqual(await refusal(records.batch(zone, { ...none, deletes: [two.id], posts: [a("new", "x")] })), [
        "dnsInvalid",
        9005,
      ]);
      assert.deepEqual(
        await refusal(records.batch(zone, { ...none, deletes: Array.from({ length: 3501 }, () => two.id) })),
        ["batchTooLarge"],
      );
      assert.deepEqual(await records.list(zone.id, {}, page), before);
      assert.deepEqual(await records.batch(zone, none), none);
    });

    test("keep their count correct under concurrent changes", async (t) => {
      const { records, newZone, db } = await openZones(t, engine);
      const zone = await newZone();
      await Promise.all(Array.from({ length: 30 }, (_, index) => records.create(zone, a(`host${index}`))));
      const made = await records.list(zone.id, {}, page);
      await Promise.all(made.items.slice(0, 10).map(({ id }) => records.delete(zone, id)));
      assert.deepEqual(await db.tables<ZoneTables>().selectFrom("dns_record_counts").select("records").execute(), [
        { records: 20 },
      ]);
      assert.equal((await records.list(zone.id, { name: { contains: "host" } }, page)).total, 20);
    });
  });
}
