import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { openZones, refusal } from "../zones.testing.ts";
import type { RecordRequest } from "./types.ts";

const mx = (content: string, priority: number): RecordRequest => ({ type: "MX", name: "@", content, priority });
const spf: RecordRequest = { type: "TXT", name: "@", content: "v=spf1 include:_spf.reelpost.example ~all" };

export function managedConformance(engine: TestEngine): void {
  describe("records that components manage", () => {
    test("are created, locked, unlocked and removed", async (t) => {
      const { records, newZone } = await openZones(t, engine);
      const zone = await newZone();
      const { managed } = records;
      const theirs = await records.create(zone, spf);
      const set = await managed.set(zone, {
        owner: "email-routing",
        locked: true,
        meta: { email_routing: true },
        records: [mx("route1.mx.example", 13), mx("route2.mx.example", 40), spf],
      });
      assert.deepEqual(
        set.map(({ type, locked, managedBy, meta }) => [type, locked, managedBy, meta]),
        ["MX", "MX", "TXT"].map((type) => [type, true, "email-routing", { email_routing: true }]),
      );
      assert.equal(set[2]!.id, theirs.id, "a record that a user created is adopted");
      assert.deepEqual(await refusal(records.delete(zone, theirs.id)), ["locked"]);
      assert.deepEqual(await refusal(records.update(zone, theirs.id, { ttl: 60 })), ["locked"]);
      assert.deepEqual(await refusal(records.batch(zone, { deletes: [theirs.id], patches: [], puts: [], posts: [] })), [
        "locked",
      ]);

      // The same set with one record fewer: the others keep their ids.
      const again = await managed.set(zone, {
        owner: "email-routing",
        locked: true,
        records: [mx("route1.mx.example", 13), spf],
      });
      assert.deepEqual(
        again.map(({ id }) => id),
        [set[0]!.id, theirs.id],
      );
      assert.equal((await managed.list(zone.id, "email-routing")).length, 2);

      assert.equal(await managed.lock(zone, "email-routing", false, ["example.com"]), 2);
      await records.update(zone, theirs.id, { ttl: 60 });
      assert.deepEqual(
        (await managed.at(zone.id, "example.com", ["MX"])).map(({ content, locked }) => [content, locked]),
        [["route1.mx.example", false]],
      );

      const sending = await managed.set(zone, { owner: "email-sending", locked: true, records: [spf] });
      assert.deepEqual(
        sending.map(({ managedBy }) => managedBy),
        ["email-routing"],
        "the records of another owner remain",
      );
      assert.equal(await managed.remove(zone, "email-routing"), 2);
      assert.deepEqual(await records.usage(zone.id), { records: 0, quota: null });
    });

    test("are created atomically", async (t) => {
      const { records, newZone } = await openZones(t, engine);
      const zone = await newZone();
      await records.create(zone, { type: "CNAME", name: "cf._domainkey", content: "x.example.net" });
      assert.deepEqual(
        await refusal(
          records.managed.set(zone, {
            owner: "email-routing",
            locked: true,
            records: [mx("a.example", 1), { type: "TXT", name: "cf._domainkey", content: "v=DKIM1; p=" }],
          }),
        ),
        ["cnameExists"],
      );
      assert.equal((await records.usage(zone.id)).records, 1);
    });
  });
}
