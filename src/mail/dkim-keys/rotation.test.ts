import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { onEveryDatabase } from "../../../test/support/databases.ts";
import { silentLog } from "../../kernel/index.ts";
import type { Jobs } from "../../store/index.ts";
import { openRouting } from "../routing/routing.testing.ts";
import { createDkimRotation } from "./rotation.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The test runs the rotation steps itself. */
const NO_JOBS: Jobs = {
  enqueue: async () => "",
  enqueueClaimed: async () => 0,
  get: async () => undefined,
  work: () => ({ stop: async () => {} }),
};

describe("rotation of DKIM keys", () => {
  onEveryDatabase((engine) => {
    test("publishes new keys, uses them once they are visible, and removes the old ones after a week", async (t) => {
      const { routing, zones, newZone, clock } = await openRouting(t, engine);
      const zone = await newZone();
      const byHand = await newZone("byhand.example");
      for (const one of [zone, byHand]) await routing.dns.enable(one);
      let visible = false;
      const looked: string[] = [];
      const rotation = createDkimRotation({
        dkimKeys: routing.dkimKeys,
        zones,
        days: 180,
        clock,
        log: silentLog,
        publishers: {
          routing: {
            rotate: (...to) => routing.dns.rotateDkim(...to),
            republish: (...to) => routing.dns.republish(...to),
          },
        },
        jobs: NO_JOBS,
        isAutomatic: ({ name }) => name !== "byhand.example",
        async areVisible(name, records) {
          looked.push(...records.map((record) => `${name} ${record.name}`));
          return visible;
        },
      });
      t.after(() => rotation.close());
      const state = async (domain = "example.com") =>
        (
          await routing.dkimKeys.list({ zone: (domain === "example.com" ? zone : byHand).id, domain, use: "routing" })
        ).map((key) => `${key.selector} ${key.state}`);
      const published = async () =>
        (await routing.dns.needed(zone)).filter(({ content }) => content.startsWith("v=DKIM1")).length;
      const text = async (selector: string) =>
        (await zones.records.managed.at(zone.id, `${selector}._domainkey.example.com`, ["TXT"])).length;

      clock.advance(179 * DAY);
      await rotation.step();
      assert.deepEqual(await state(), ["reelpost active"]);
      clock.advance(DAY);
      await rotation.step();
      assert.deepEqual(
        [await state(), await state("byhand.example")],
        [["reelpost active", "reelpost-2 next"], ["reelpost active"]],
      );
      assert.deepEqual([await published(), await text("reelpost-2")], [2, 1]);

      clock.advance(HOUR - 1);
      await rotation.step();
      assert.deepEqual(looked, [], "resolvers may still have cached the negative response from before the publication");
      clock.advance(1);
      await rotation.step();
      assert.deepEqual(
        [looked, await state()],
        [["example.com reelpost-2._domainkey.example.com"], ["reelpost active", "reelpost-2 next"]],
        "a key that is not visible in DNS does not sign",
      );
      visible = true;
      await rotation.step();
      assert.deepEqual(await state(), ["reelpost retired", "reelpost-2 active"]);

      clock.advance(7 * DAY);
      await rotation.step();
      assert.deepEqual([await state(), await text("reelpost")], [["reelpost retired", "reelpost-2 active"], 1]);
      clock.advance(1);
      await rotation.step();
      assert.deepEqual(
        [await state(), await text("reelpost"), await text("reelpost-2")],
        [["reelpost-2 active"], 0, 1],
      );
    });

    test("is not blocked by names that cannot be processed", async (t) => {
      const { routing, zones, newZone, clock } = await openRouting(t, engine);
      const names = ["one.example", "two.example", "three.example", "four.example"];
      for (const name of names) await routing.dns.enable(await newZone(name));
      const hopeful = (await routing.dkimKeys.names("active", clock.now(), 10)).at(-1)!.domain;
      const rotation = createDkimRotation({
        dkimKeys: routing.dkimKeys,
        zones,
        days: 1,
        clock,
        log: silentLog,
        isAutomatic: ({ name }) => name === hopeful,
        areVisible: async () => true,
        batch: 2,
        publishers: {
          routing: {
            rotate: (...to) => routing.dns.rotateDkim(...to),
            republish: (...to) => routing.dns.republish(...to),
          },
        },
        jobs: NO_JOBS,
      });
      t.after(() => rotation.close());
      clock.advance(DAY);
      const next = async () => (await routing.dkimKeys.names("next", clock.now(), 10)).map(({ domain }) => domain);
      await rotation.step();
      assert.deepEqual(await next(), []);
      await rotation.step();
      assert.deepEqual(await next(), [hopeful]);
    });

    test("skips names no longer in use and continues with the others", async (t) => {
      const { routing, zones, newZone, clock } = await openRouting(t, engine);
      const [off, on] = [await newZone("off.example"), await newZone("on.example")];
      for (const one of [off, on]) await routing.dns.enable(one);
      await routing.dns.disable(off);
      const rotation = createDkimRotation({
        dkimKeys: routing.dkimKeys,
        zones,
        days: 1,
        clock,
        log: silentLog,
        isAutomatic: () => true,
        areVisible: async () => true,
        publishers: {
          routing: {
            rotate: (...to) => routing.dns.rotateDkim(...to),
            republish: (...to) => routing.dns.republish(...to),
          },
        },
        jobs: NO_JOBS,
      });
      t.after(() => rotation.close());
      clock.advance(DAY);
      await rotation.step();
      const states = async (zone: { id: string; name: string }) =>
        (await routing.dkimKeys.list({ zone: zone.id, domain: zone.name, use: "routing" })).map((key) => key.state);
      assert.deepEqual([await states(off), await states(on)], [["active"], ["active", "next"]]);
    });
  });
});
