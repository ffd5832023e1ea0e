import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { onEveryDatabase } from "../../../test/support/databases.ts";
import { silentLog } from "../../kernel/index.ts";
import { readPolicy } from "../../protocol/mtasts/index.ts";
import { openRouting } from "../routing/routing.testing.ts";
import { createPublishedSts, type PublishedStsOptions } from "./published.ts";

describe("published MTA-STS policies", () => {
  onEveryDatabase((engine) => {
    test("follow the routed names, and leave the user's own records unchanged", async (t) => {
      const opened = await openRouting(t, engine);
      const { routing, zones, newZone, db, events } = opened;
      const start = (mode: PublishedStsOptions["mode"]) => {
        const sts = createPublishedSts({
          db,
          events,
          zones,
          log: silentLog,
          mode,
          mx: ["mx1.us.example", "mx2.us.example"],
          webHost: "www.us.example",
        });
        t.after(async () => sts.close());
        return sts;
      };
      const sts = start("enforce");
      const zone = await newZone();
      await routing.dns.enable(zone);
      await routing.dns.enable(zone, "sub.example.com");
      await routing.dns.enable(zone, "own.example.com");
      await zones.records.create(zone, { type: "TXT", name: "_mta-sts.own", content: "v=STSv1; id=theirs;" });
      const shown = async () =>
        (await zones.records.managed.list(zone.id, "mta-sts"))
          .map(({ name, type, locked }) => `${name} ${type}${locked ? " locked" : ""}`)
          .sort();
      await sts.sweep();
      await sts.sweep();
      const withSub = [
        "_mta-sts.example.com TXT locked",
        "_mta-sts.sub.example.com TXT locked",
        "mta-sts.example.com CNAME locked",
        "mta-sts.sub.example.com CNAME locked",
      ];
      assert.deepEqual(
        (await shown()).filter((one) => !one.includes("own.")),
        withSub,
      );
      const policy = (await sts.policyOf("mta-sts.sub.example.com"))!;
      assert.deepEqual(readPolicy(policy), {
        ok: true,
        policy: { mode: "enforce", maxAge: 86_400, mx: ["mx1.us.example", "mx2.us.example"] },
      });
      for (const host of ["mta-sts.nobody.example", "example.com", "mta-sts.", "xmta-sts.example.com"])
        assert.equal(await sts.policyOf(host), undefined, host);
      assert.deepEqual(
        await sts.hosts(2),
        ["mta-sts.example.com", "mta-sts.own.example.com"].map((host) => ({ host, account: zone.account })),
      );

      await routing.dns.disable(zone, "sub.example.com");
      await sts.sweep();
      assert.deepEqual(
        (await shown()).some((one) => one.includes("sub.")),
        false,
      );
      assert.equal(await sts.policyOf("mta-sts.sub.example.com"), undefined);

      // TLS reports are requested if the policy is managed here and the zone does not already request them.
      const reporting = createPublishedSts({
        db,
        events,
        zones,
        log: silentLog,
        mode: "enforce",
        mx: ["mx1.us.example"],
        webHost: "www.us.example",
        reportTo: async () => "mailto:r@us.example",
      });
      await routing.dns.enable(zone, "two.example.com");
      await zones.records.create(zone, {
        type: "TXT",
        name: "_smtp._tls.two",
        content: "v=TLSRPTv1; rua=mailto:me@two.example",
      });
      await reporting.sweep();
      await reporting.sweep();
      reporting.close();
      const managed = (await zones.records.managed.list(zone.id, "mta-sts")).filter(({ name }) =>
        name.startsWith("_smtp._tls."),
      );
      assert.deepEqual(
        managed.map(({ name, content }) => [name, content.replaceAll('"', "")]),
        [["_smtp._tls.example.com", "v=TLSRPTv1; rua=mailto:r@us.example"]],
      );

      sts.close();
      const off = start("off");
      await off.sweep();
      assert.deepEqual(await shown(), []);
      assert.equal(await off.policyOf("mta-sts.example.com"), undefined);
      assert.equal((await zones.records.managed.at(zone.id, "_mta-sts.own.example.com")).length, 1);
    });
  });
});
