import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { txtText } from "../../protocol/dns/index.ts";
import { ACCOUNT, HOSTS, openRouting, refusal } from "./routing.testing.ts";

const page = { page: 1, perPage: 50 };

export function dnsConformance(engine: TestEngine): void {
  describe("records of routing", () => {
    const open = async (...args: Parameters<typeof openRouting>) => {
      const house = await openRouting(...args);
      const zone = await house.newZone();
      const records = async (name = zone.name) =>
        (await house.zones.records.managed.at(zone.id, name))
          .map(
            (record) =>
              `${record.type} ${record.priority ?? ""} ${record.type === "TXT" ? txtText(record.content) : record.content}${record.locked ? " locked" : ""}`,
          )
          .sort();
      const status = async () => (await house.routing.settings.of(zone)).status;
      return { ...house, zone, records, status };
    };
    const MX = HOSTS.mx.map(({ host, priority }) => `MX ${priority} ${host}`);
    const SPF = "TXT  v=spf1 include:_spf.mx.reelpost.example ~all";

    test("are created and locked, unlocked, and removed", async (t) => {
      const { routing, zones, zone, records, status } = await open(t, engine);
      const before = await routing.settings.of(zone);
      assert.deepEqual(
        [
          before.enabled,
          before.status,
          before.skipWizard,
          before.supportSubaddress,
          before.createdAt,
          before.subdomains,
        ],
        [false, "unconfigured", true, false, zone.createdAt, []],
      );

      await routing.dns.enable(zone);
      assert.deepEqual(await records(), [...MX, SPF].map((line) => `${line} locked`).sort());
      const [dkim] = await records("reelpost._domainkey.example.com");
      assert.match(dkim!, /^TXT {2}v=DKIM1; h=sha256; k=rsa; p=[\w+/]{380,}={0,2} locked$/);
      assert.equal(await status(), "ready");
      assert.equal((await routing.settings.of(zone)).enabled, true);
      const needed = await routing.dns.needed(zone);
      assert.deepEqual(
        needed.map(({ type, name, priority, ttl }) => [type, name, priority, ttl]),
        [
          ...HOSTS.mx.map(({ priority }) => ["MX", "example.com", priority, 1]),
          ["TXT", "example.com", undefined, 1],
          ["TXT", "reelpost._domainkey.example.com", undefined, 1],
        ],
      );
      assert.equal(`TXT  ${needed[4]!.content} locked`, dkim);

      const [record] = await zones.records.managed.at(zone.id, zone.name, ["MX"]);
      assert.deepEqual((await refusal(zones.records.delete(zone, record!.id)))[0], "locked");
      await routing.dns.unlock(zone);
      assert.equal(await status(), "unlocked");
      await zones.records.delete(zone, record!.id);
      assert.equal(await status(), "misconfigured");
      assert.deepEqual(
        (await routing.dns.examine(zone, zone.name)).problems.map(({ code }) => code),
        ["mx.missing"],
      );

      await routing.dns.enable(zone);
      assert.equal(await status(), "ready", "enabling again creates and locks missing records");
      await routing.dns.disable(zone);
      assert.deepEqual(
        [await records(), await records("reelpost._domainkey.example.com"), await status()],
        [[], [], "unconfigured"],
      );
      await routing.dns.disable(zone);
      await routing.dns.enable(zone);
      assert.deepEqual(
        await records("reelpost._domainkey.example.com"),
        [dkim],
        "the previously published key is reused",
      );
      assert.deepEqual(await refusal(routing.dns.enable(zone, "example.org")), [
        "notInZone",
        "example.org is not in the zone example.com",
      ]);
    });

    test("are replaced if they were created for other hosts, but not if they were unlocked", async (t) => {
      const { build, db, routing, zones, zone, records } = await open(t, engine);
      await routing.dns.enable(zone);
      const moved = {
        ...HOSTS,
        mx: [{ host: "new.reelpost.example", priority: 5 }],
        spfInclude: "_spf.new.reelpost.example",
      };
      const later = build(db, { hosts: moved });
      t.after(() => later.close());
      assert.deepEqual(
        (await later.dns.examine(zone, zone.name)).problems.map(({ code }) => code),
        ["mx.missing", "spf.missing"],
      );
      await later.dns.enable(zone);
      assert.deepEqual(await records(), [
        "MX 5 new.reelpost.example locked",
        "TXT  v=spf1 include:_spf.new.reelpost.example ~all locked",
      ]);

      await later.dns.unlock(zone);
      const [mx] = await zones.records.managed.at(zone.id, zone.name, ["MX"]);
      await zones.records.update(zone, mx!.id, { content: "mx.example.net" });
      assert.deepEqual((await refusal(later.dns.enable(zone)))[0], "mxInTheWay");
    });

    test("of another mail service are listed and left unchanged", async (t) => {
      const { routing, zones, zone, records, status } = await open(t, engine);
      await zones.records.create(zone, { type: "MX", name: "@", content: "aspmx.example.net", priority: 10 });
      await zones.records.create(zone, { type: "MX", name: "@", content: "alt.example.net", priority: 20 });
      const before = await records();
      const [kind, message] = await refusal(routing.dns.enable(zone));
      assert.deepEqual(
        [kind, message],
        [
          "mxInTheWay",
          "example.com has MX records that point to another mail service: 10 aspmx.example.net, 20 alt.example.net",
        ],
      );
      assert.deepEqual([await records(), await status()], [before, "unconfigured"]);
    });

    test("belong to the user after being unlocked and edited", async (t) => {
      const { routing, zones, zone, records } = await open(t, engine);
      await routing.dns.enable(zone);
      await routing.dns.unlock(zone);
      const first = (await zones.records.managed.at(zone.id, zone.name, ["MX"])).find(({ priority }) => priority === 1);
      await zones.records.update(zone, first!.id, { content: "mail.example.net" });
      assert.equal((await refusal(routing.dns.enable(zone)))[0], "mxInTheWay");
      await routing.dns.disable(zone);
      assert.deepEqual(await records(), ["MX 1 mail.example.net"]);
    });

    test("add our include to the user's SPF record, remove it again, and reject two SPF records", async (t) => {
      const { routing, zones, zone, records, status } = await open(t, engine);
      await zones.records.create(zone, { type: "TXT", name: "@", content: "v=spf1 ip4:192.0.2.1 -all" });
      await routing.dns.enable(zone);
      assert.deepEqual(
        (await records()).filter((line) => line.startsWith("TXT")),
        ["TXT  v=spf1 include:_spf.mx.reelpost.example ip4:192.0.2.1 -all"],
      );
      assert.equal(await status(), "ready");
      await routing.dns.enable(zone);
      await routing.dns.disable(zone);
      assert.deepEqual(await records(), ["TXT  v=spf1 ip4:192.0.2.1 -all"]);

      await zones.records.create(zone, {
        type: "TXT",
        name: "@",
        content: "v=spf1 include:_spf.mx.reelpost.example ~all",
      });
      await routing.dns.enable(zone);
      assert.equal(await status(), "misconfigured");
      assert.deepEqual(
        (await routing.dns.examine(zone, zone.name)).problems.map(({ code }) => code),
        ["spf.multiple", "spf.multiple"],
      );
    });

    test("are created for up to thirty names under the zone's own name", async (t) => {
      const { routing, zone, zones, records, newZone } = await open(t, engine, { limits: { names: 2 } });
      await routing.dns.enable(zone, "In.Example.COM");
      const settings = await routing.settings.of(zone);
      assert.deepEqual(
        [settings.enabled, settings.subdomains.map(({ name, enabled, status }) => [name, enabled, status])],
        [false, [["in.example.com", true, "ready"]]],
      );
      assert.equal((await records("in.example.com")).length, 4);
      await routing.dns.enable(zone);
      assert.deepEqual(await refusal(routing.dns.enable(zone, "third.example.com")), [
        "tooManyDomains",
        "Email Routing supports at most 2 names per zone",
      ]);
      await newZone("own.example.com");
      assert.equal((await refusal(routing.dns.enable(zone, "x.own.example.com")))[0], "ownZone");

      await routing.dns.disable(zone, "in.example.com");
      assert.deepEqual(
        [(await routing.settings.of(zone)).subdomains, await records("in.example.com"), (await records()).length],
        [[], [], 4],
      );
      await routing.dns.enable(zone, "in.example.com");
      await routing.dns.disable(zone);
      assert.equal((await zones.records.usage(zone.id)).records, 0);
      assert.equal((await refusal(routing.dns.unlock(zone, "in.example.com")))[0], "notEnabled");
    });

    test("are compared with the responses of a resolver", async (t) => {
      const seen = { missing: undefined as number | undefined };
      const { routing, zone, status } = await open(t, engine, {
        verifier: {
          missing: async (_name, needed) => (seen.missing === undefined ? undefined : needed.slice(0, seen.missing)),
        },
      });
      await routing.dns.enable(zone);
      assert.equal(await status(), "ready");
      seen.missing = 2;
      assert.equal(await status(), "misconfigured");
      seen.missing = 0;
      assert.equal(await status(), "ready");
    });

    test("rotate DKIM keys without interruption", async (t) => {
      const { routing, zone, records, status, clock, secrets, db } = await open(t, engine, {
        hosts: { ...HOSTS, dkimEd25519: true },
      });
      const name = { zone: zone.id, domain: zone.name, use: "routing" as const };
      await routing.dns.enable(zone);
      const first = await routing.dkimKeys.signers(name);
      assert.deepEqual(
        first.map(({ selector, algorithm }) => [selector, algorithm]),
        [
          ["reelpost", "rsa"],
          ["reelpost-ed25519", "ed25519"],
        ],
      );
      assert.match(
        (await records("reelpost-ed25519._domainkey.example.com"))[0]!,
        /^TXT {2}v=DKIM1; h=sha256; k=ed25519; p=[\w+/]{43}= locked$/,
      );
      const stored = await db
        .tables<{ dkim_keys: { private_key: string } }>()
        .selectFrom("dkim_keys")
        .select("private_key")
        .execute();
      assert.equal(
        stored.some(({ private_key }) => private_key.includes("PRIVATE KEY")),
        false,
        "the private keys are encrypted",
      );
      assert.ok(secrets);

      assert.equal((await routing.dns.rotateDkim(zone)).length, 4);
      assert.deepEqual(await routing.dkimKeys.signers(name), first, "the next keys do not sign yet");
      assert.equal((await routing.dns.rotateDkim(zone)).length, 4, "rotating again has no effect");
      assert.equal((await records("reelpost-2._domainkey.example.com")).length, 1);
      assert.equal(await routing.dkimKeys.promote(name), true);
      assert.equal(await routing.dkimKeys.promote(name), false);
      assert.deepEqual(
        (await routing.dkimKeys.signers(name)).map(({ selector }) => selector),
        ["reelpost-2", "reelpost-2-ed25519"],
      );
      assert.equal((await records("reelpost._domainkey.example.com")).length, 1, "earlier signatures still verify");
      clock.advance(1000);
      assert.deepEqual(await routing.dkimKeys.sweep(clock.now()), [name]);
      await routing.dns.republish(zone);
      assert.deepEqual([await records("reelpost._domainkey.example.com"), await status()], [[], "ready"]);
    });

    test("come with settings that are changed field by field, listed by account, and deleted with their zone", async (t) => {
      const { routing, zone, zones, newZone, clock } = await open(t, engine);
      await newZone("b.example");
      await newZone("c.example", "c".repeat(32));
      clock.advance(1000);
      const changed = await routing.settings.update(zone, { supportSubaddress: true });
      assert.deepEqual([changed.supportSubaddress, changed.skipWizard, changed.modifiedAt], [true, true, clock.now()]);
      assert.deepEqual(
        (({ supportSubaddress, skipWizard }) => [supportSubaddress, skipWizard])(
          await routing.settings.update(zone, { skipWizard: false }),
        ),
        [true, false],
      );
      const list = await routing.settings.list(ACCOUNT, page);
      assert.deepEqual(
        [list.items.map(({ name, enabled }) => [name, enabled]), list.total],
        [
          [
            ["b.example", false],
            ["example.com", false],
          ],
          2,
        ],
      );
      assert.deepEqual((await routing.settings.list(ACCOUNT, { page: 2, perPage: 50 })).items, []);

      await routing.dns.enable(zone);
      await zones.delete(zone.id);
      await routing.deleteOrphans();
      const again = await newZone();
      assert.deepEqual(
        (({ enabled, supportSubaddress, status }) => [enabled, supportSubaddress, status])(
          await routing.settings.of(again),
        ),
        [false, false, "unconfigured"],
      );
      await routing.dns.enable(again);
      assert.equal((await routing.settings.of(again)).status, "ready");
    });
  });
}
