import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { onEveryDatabase } from "../../../test/support/databases.ts";
import { randomIds } from "../../kernel/index.ts";
import type { Events } from "../../store/index.ts";
import type { Zone } from "../../zones/index.ts";
import { until } from "../bounces/bounces.testing.ts";
import { txtText } from "../../protocol/dns/index.ts";
import { openRouting } from "../routing/routing.testing.ts";
import { createDmarcReporting } from "./reports.ts";

describe("DMARC reports of a zone", () => {
  onEveryDatabase((engine) => {
    test("are requested in the existing record or in a new one, until disabled", async (t) => {
      const { db, events, zones, clock, newZone } = await openRouting(t, engine);
      const world = new Map<string, string[][]>();
      const reports = createDmarcReporting({
        db,
        events,
        zones,
        clock,
        ids: randomIds,
        domain: "reports.us.example",
        resolveTxt: async (name) => world.get(name) ?? Promise.reject(new Error("none")),
      });
      t.after(async () => reports.close());
      const zone = await newZone();
      const texts = async () =>
        (await zones.records.managed.at(zone.id, "_dmarc.example.com", ["TXT"])).map(({ content }) => txtText(content));

      const before = await reports.of(zone);
      assert.deepEqual(
        [before.enabled, before.skipWizard, before.status, before.ruaPrefix.length],
        [false, false, "missing-dmarc-report", 32],
      );
      assert.equal(await reports.zoneByAddress(`${before.ruaPrefix}@reports.us.example`), undefined);
      const on = await reports.update(zone, { enabled: true, skipWizard: true });
      const uri = `mailto:${before.ruaPrefix}@reports.us.example`;
      assert.deepEqual(
        [on.enabled, on.skipWizard, on.status, on.ruaPrefix, await texts()],
        [true, true, undefined, before.ruaPrefix, [`v=DMARC1; p=none; rua=${uri};`]],
      );
      assert.deepEqual(
        [
          await reports.zoneByAddress(`${before.ruaPrefix.toUpperCase()}@REPORTS.us.example`),
          await reports.zoneByAddress(`${"0".repeat(32)}@reports.us.example`),
          await reports.zoneByAddress("x@reports.us.example"),
        ],
        [{ zone: zone.id, account: zone.account }, undefined, undefined],
      );
      const off = await reports.update(zone, { enabled: false });
      assert.deepEqual(
        [off.enabled, off.skipWizard, off.status, await texts()],
        [false, true, "missing-dmarc-rua", ["v=DMARC1; p=none;"]],
      );

      // A record managed by the platform becomes a user record, because it now contains a setting of the user.
      const [record] = await zones.records.managed.at(zone.id, "_dmarc.example.com");
      await zones.records.delete(zone, record!.id);
      await zones.records.managed.set(zone, {
        owner: "email-sending",
        locked: true,
        records: [{ type: "TXT", name: "_dmarc", content: "v=DMARC1; p=quarantine;" }],
      });
      assert.equal((await reports.update(zone, { enabled: true })).status, undefined);
      assert.deepEqual(
        [await texts(), (await zones.records.managed.at(zone.id, "_dmarc.example.com"))[0]!.managedBy],
        [[`v=DMARC1; p=quarantine; rua=${uri};`], null],
      );

      await zones.records.create(zone, { type: "TXT", name: "_dmarc", content: "v=DMARC1; p=reject" });
      assert.equal((await reports.of(zone)).status, "multiple-dmarc-reports");
      await zones.delete(zone.id);
    });

    test("are requested in the target record if the name is an alias", async (t) => {
      const { db, events, zones, clock, newZone } = await openRouting(t, engine);
      let answer: string[][] = [];
      const reports = createDmarcReporting({
        db,
        events,
        zones,
        clock,
        ids: randomIds,
        domain: "reports.us.example",
        resolveTxt: async () => answer,
      });
      t.after(async () => reports.close());
      const zone = await newZone();
      await zones.records.create(zone, { type: "CNAME", name: "_dmarc", content: "policy.them.example" });
      assert.equal((await reports.update(zone, { enabled: true })).status, "cname-on-dmarc-record");
      answer = [["v=DMARC1; ", "p=reject"], ["something else"]];
      const { status, records } = await reports.of(zone);
      assert.deepEqual(
        [status, records.dmarcResolved, records.dmarcAlias.length],
        [undefined, [{ name: "_dmarc.example.com", content: "v=DMARC1; p=reject" }], 1],
      );
    });

    test("are no longer accepted after their zone has been deleted, in every process", async (t) => {
      const { db, events, zones, clock, newZone } = await openRouting(t, engine);
      let hear: (zone: string) => void = () => {};
      const lossy: Events = { ...events, subscribe: (_topic, listener) => ((hear = listener), () => {}) };
      const reports = createDmarcReporting({
        db,
        events: lossy,
        zones,
        clock,
        ids: randomIds,
        domain: "reports.us.example",
        resolveTxt: async () => [],
      });
      t.after(async () => reports.close());
      const names = new Map<string, { zone: Zone; address: string }>();
      for (const name of ["stays", "told", "missed", "slept"]) {
        const zone = await newZone(`${name}.example`);
        names.set(name, {
          zone,
          address: `${(await reports.update(zone, { enabled: true })).ruaPrefix}@reports.us.example`,
        });
      }
      const taken = async () =>
        (
          await Promise.all(
            [...names].map(async ([name, { address }]) =>
              (await reports.zoneByAddress(address)) !== undefined ? [name] : [],
            ),
          )
        )
          .flat()
          .join(" ");
      const remove = async (name: string) => {
        const { id } = names.get(name)!.zone;
        await zones.delete(id);
        return id;
      };

      hear(await remove("told"));
      await until(async () => (await taken()) === "stays missed slept");
      await remove("missed");
      // An empty event means that some notifications were lost.
      hear("");
      await until(async () => (await taken()) === "stays slept");
      await remove("slept");
      await reports.deleteOrphans();
      assert.equal(await taken(), "stays");
    });
  });
});
