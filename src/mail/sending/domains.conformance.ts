import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { refusal } from "../routing/routing.testing.ts";
import { txtText } from "../../protocol/dns/index.ts";
import { ACCOUNT, openSending, OTHER_ACCOUNT } from "./sending.testing.ts";

export function domainsConformance(engine: TestEngine): void {
  describe("sending domains", () => {
    const open = async (...args: Parameters<typeof openSending>) => {
      const house = await openSending(...args);
      const zone = await house.newZone();
      const records = async (name: string) =>
        (await house.zones.records.managed.at(zone.id, name))
          .map(
            (record) =>
              `${record.type} ${record.priority ?? ""} ${record.type === "TXT" ? txtText(record.content) : record.content}${record.locked ? " locked" : ""}`,
          )
          .sort();
      const problems = async (id: string) => (await house.domains.status(zone, id)).problems.map(({ code }) => code);
      return { ...house, zone, records, problems };
    };
    const BOUNCE = [
      "MX 10 mx1.reelpost.example locked",
      "MX 20 mx2.reelpost.example locked",
      "TXT  v=spf1 include:_spf.reelpost.example ~all locked",
    ];
    const DMARC = ["TXT  v=DMARC1; p=quarantine; locked"];

    test("are created with their records, locked, and deleted with them", async (t) => {
      const { domains, dkimKeys, zones, zone, clock, records, problems } = await open(t, engine);
      const made = await domains.create(zone, "Example.com");
      assert.deepEqual(made, {
        id: made.id,
        zone: zone.id,
        account: ACCOUNT,
        name: "example.com",
        enabled: true,
        dkimSelector: "rp-bounce",
        returnPathDomain: "rp-bounce.example.com",
        previewEnabled: true,
        dropSuppressed: false,
        createdAt: clock.now(),
        modifiedAt: clock.now(),
      });
      assert.match(made.id, /^[0-9a-f]{32}$/);
      assert.deepEqual(
        [await records("rp-bounce.example.com"), await records("_dmarc.example.com"), await records("example.com")],
        [BOUNCE, DMARC, []],
      );
      assert.match(
        (await records("rp-bounce._domainkey.example.com"))[0]!,
        /^TXT {2}v=DKIM1; h=sha256; k=rsa; p=[\w+/]{380,}={0,2} locked$/,
      );
      const { status, records: needed } = await domains.status(zone, made.id);
      assert.deepEqual(
        [status, needed.map(({ type, name }) => `${type} ${name}`)],
        [
          "ready",
          [
            "MX rp-bounce.example.com",
            "MX rp-bounce.example.com",
            "TXT rp-bounce.example.com",
            "TXT rp-bounce._domainkey.example.com",
            "TXT _dmarc.example.com",
          ],
        ],
      );
      assert.deepEqual(await domains.needed(zone, made.id), needed);
      assert.deepEqual(
        [
          await domains.create(zone, "example.com"),
          await domains.get(zone, made.id),
          await domains.list(zone),
          await domains.find("example.com"),
        ],
        [made, made, [made], made],
      );
      assert.deepEqual(await domains.missingRecords(made), []);

      const mx = (await zones.records.managed.at(zone.id, "rp-bounce.example.com", ["MX"])).find(
        ({ priority }) => priority === 10,
      );
      assert.equal((await refusal(zones.records.delete(zone, mx!.id)))[0], "locked");
      await zones.records.managed.lock(zone, "email-sending", false);
      assert.equal((await domains.status(zone, made.id)).status, "unlocked");
      await zones.records.delete(zone, mx!.id);
      assert.deepEqual(
        [(await domains.status(zone, made.id)).status, await problems(made.id)],
        ["misconfigured", ["mx.missing"]],
      );
      clock.advance(60_000);
      assert.deepEqual(
        (await domains.missingRecords(made)).map(({ type, content }) => `${type} ${content}`),
        ["MX mx1.reelpost.example"],
      );
      assert.deepEqual(
        [
          (await domains.fix(zone, made.id)).status,
          await records("rp-bounce.example.com"),
          await domains.missingRecords(made),
        ],
        ["ready", BOUNCE, []],
      );

      await domains.delete(zone, made.id);
      assert.deepEqual(
        [
          await records("rp-bounce.example.com"),
          await records("_dmarc.example.com"),
          await domains.list(zone),
          await domains.find("example.com"),
        ],
        [[], [], [], undefined],
      );
      assert.deepEqual(await refusal(domains.get(zone, made.id)), ["noSendingDomain", "Sending subdomain not found"]);
      assert.equal(
        (await dkimKeys.list({ zone: zone.id, domain: "example.com", use: "sending" })).length,
        1,
        "mail signed with the key may still be in transit",
      );
    });

    test("with routed mail remain listed after sending is disabled", async (t) => {
      const { domains, routed, zone, records, problems } = await open(t, engine);
      routed.add("in.example.com");
      const { id } = await domains.create(zone, "in.example.com");
      await domains.delete(zone, id);
      assert.deepEqual(
        [(await domains.get(zone, id)).enabled, await domains.list(zone), (await domains.status(zone, id)).status],
        [false, [], "unconfigured"],
      );
      assert.deepEqual(
        [(await domains.fix(zone, id)).status, await records("rp-bounce.in.example.com")],
        ["unconfigured", []],
      );
      assert.equal((await domains.create(zone, "in.example.com")).id, id);
      assert.deepEqual([(await domains.get(zone, id)).enabled, await problems(id)], [true, []]);
    });

    test("may have names only within their zone, up to the maximum number", async (t) => {
      const { domains, zones, zone, newZone } = await open(t, engine);
      const kinds = async (name: string) => [
        (await refusal(domains.create(zone, name)))[0],
        (await refusal(domains.preview(zone, name)))[0],
      ];
      assert.deepEqual(await kinds("example.org"), ["sendingNotInZone", "sendingNotInZone"]);
      assert.deepEqual(await kinds("no good"), ["sendingNotInZone", "sendingNotInZone"]);
      assert.deepEqual(await kinds("*.example.com"), ["wildcardNotAllowed", "wildcardNotAllowed"]);
      await newZone("sub.example.com");
      assert.deepEqual(await kinds("a.sub.example.com"), ["sendingOwnZone", "sendingOwnZone"]);
      const other = await newZone("example.org", OTHER_ACCOUNT);
      const { id } = await domains.create(other, "example.org");
      assert.equal((await refusal(domains.get(zone, id)))[0], "noSendingDomain");
      await zones.delete(other.id);
      await domains.deleteOrphans();
      assert.equal(await domains.find("example.org"), undefined);
    });

    test("are listed by zone", async (t) => {
      const { domains, zone, newZone, clock } = await open(t, engine);
      const second = await newZone("another.example");
      await newZone("silent.example");
      for (const name of ["b.example.com", "a.example.com"]) await domains.create(zone, name);
      clock.advance(5000);
      await domains.create(second, "another.example");
      const { items, total } = await domains.zones(ACCOUNT, { page: 1, perPage: 5 });
      assert.deepEqual(
        [items.map(({ name, enabled }) => [name, enabled]), total, items[1]!.id, items[0]!.createdAt],
        [
          [
            ["another.example", true],
            ["example.com", false],
          ],
          2,
          zone.id,
          clock.now(),
        ],
      );
      assert.deepEqual(
        [
          (await domains.zones(ACCOUNT, { page: 2, perPage: 1 })).items.map(({ name }) => name),
          (await domains.zones(ACCOUNT, { page: 3, perPage: 1 })).items,
          (await domains.zones(OTHER_ACCOUNT, { page: 1, perPage: 5 })).total,
        ],
        [["example.com"], [], 0],
      );
      assert.deepEqual(
        (await domains.list(zone)).map(({ name }) => name),
        ["a.example.com", "b.example.com"],
      );
      const { id } = (await domains.list(zone))[0]!;
      const changed = await domains.update(zone, id, { dropSuppressed: true });
      assert.deepEqual(
        [changed.dropSuppressed, changed.previewEnabled, await domains.get(zone, id)],
        [true, true, changed],
      );
      assert.equal((await domains.update(zone, id, { previewEnabled: false })).dropSuppressed, true);
    });

    test("never share a name with records of another service", async (t) => {
      const { domains, zones, zone, records } = await open(t, engine);
      const create = (type: string, name: string, content: string, priority?: number) =>
        zones.records.create(zone, { type, name, content, priority });
      const attempt = async () => {
        const [kind, message] = await refusal(domains.create(zone, "example.com"));
        return `${kind}: ${message}`;
      };
      const mx = await create("MX", "rp-bounce", "mail.example.net", 5);
      const before = await records("rp-bounce.example.com");
      assert.equal(
        await attempt(),
        "foreignMx: rp-bounce.example.com has MX records that point to another mail service: 5 mail.example.net",
      );
      assert.deepEqual(
        (await domains.preview(zone, "example.com")).problems
          .map(({ code, existing }) => [code, existing?.content])
          .find(([code]) => code === "mx.foreign"),
        ["mx.foreign", "mail.example.net"],
      );
      assert.deepEqual(await records("rp-bounce.example.com"), before);
      await zones.records.delete(zone, mx.id);

      const spf = await create("TXT", "rp-bounce", "v=spf1 -all");
      assert.match(await attempt(), /^multipleSpf: rp-bounce\.example\.com has another SPF record: v=spf1 -all/);
      await zones.records.delete(zone, spf.id);

      const dkim = await create("TXT", "rp-bounce._domainkey", "v=DKIM1; p=");
      assert.match(await attempt(), /^multipleDkim: rp-bounce\._domainkey\.example\.com has other DKIM records/);
      await zones.records.delete(zone, dkim.id);

      const dmarc = [
        await create("TXT", "_dmarc", "v=DMARC1; p=none"),
        await create("TXT", "_dmarc", "v=DMARC1; p=reject"),
      ];
      assert.match(await attempt(), /^multipleDmarc: _dmarc\.example\.com has several DMARC records/);
      await zones.records.delete(zone, dmarc[0]!.id);
      await create("TXT", "_dmarc", "some other text");
      assert.equal(await attempt(), "nothing was refused: undefined");
      assert.deepEqual(
        await records("_dmarc.example.com"),
        ["TXT  some other text", "TXT  v=DMARC1; p=reject"],
        "a policy created by the user remains the only one",
      );
    });

    test("leave the DMARC policy of a domain and its subdomains to its owner", async (t) => {
      const { domains, zones, zone, records, problems } = await open(t, engine);
      const first = await domains.create(zone, "one.example.com");
      assert.deepEqual(await records("_dmarc.one.example.com"), DMARC);
      await zones.records.create(zone, {
        type: "TXT",
        name: "_dmarc",
        content: "v=DMARC1; p=reject; rua=mailto:d@example.com",
      });
      const second = await domains.create(zone, "two.example.com");
      assert.deepEqual(
        [await records("_dmarc.two.example.com"), await problems(second.id), await problems(first.id)],
        [[], [], []],
      );
      await zones.records.create(zone, { type: "TXT", name: "_dmarc.one", content: "v=DMARC1; p=none" });
      assert.deepEqual(await problems(first.id), ["dmarc.multiple"]);
      assert.equal((await domains.fix(zone, first.id)).status, "ready");
      assert.deepEqual(await records("_dmarc.one.example.com"), ["TXT  v=DMARC1; p=none"]);
    });

    test("accept our include in a user's own SPF record", async (t) => {
      const { domains, zones, zone, records } = await open(t, engine);
      await zones.records.create(zone, {
        type: "TXT",
        name: "rp-bounce",
        content: "v=spf1 ip4:192.0.2.1 include:_spf.reelpost.example -all",
      });
      const { id } = await domains.create(zone, "example.com");
      assert.deepEqual(
        [
          (await domains.status(zone, id)).status,
          (await records("rp-bounce.example.com")).filter((line) => line.startsWith("TXT")).length,
        ],
        ["ready", 1],
      );
    });

    test("are unchanged by a preview", async (t) => {
      const { domains, zones, zone, records } = await open(t, engine);
      const { records: needed, problems } = await domains.preview(zone, "example.com");
      assert.deepEqual(
        [needed.length, problems.map(({ code }) => code)],
        [5, ["mx.missing", "mx.missing", "spf.missing", "dkim.missing", "dmarc.missing"]],
      );
      assert.deepEqual([await records("rp-bounce.example.com"), await domains.list(zone)], [[], []]);
      await domains.create(zone, "example.com");
      assert.deepEqual(await domains.preview(zone, "example.com"), { records: needed, problems: [] });
      await zones.records.create(zone, { type: "NS", name: "_domainkey.other", content: "ns.example.net" });
      assert.ok(
        (await domains.preview(zone, "other.example.com")).problems.some(({ code }) => code === "domainkey.delegated"),
      );
    });

    test("report as missing the records that resolvers do not return", async (t) => {
      const unseen: string[] = [];
      const verifier = {
        missing: async (_name: string, needed: readonly { name: string }[]) =>
          needed.filter(({ name }) => unseen.includes(name)) as never,
      };
      const { domains, zone, problems, clock } = await open(t, engine, { verifier });
      const made = await domains.create(zone, "example.com");
      assert.deepEqual([await problems(made.id), await domains.missingRecords(made)], [[], []]);
      unseen.push("rp-bounce._domainkey.example.com", "_dmarc.example.com");
      assert.deepEqual(await problems(made.id), ["dkim.missing", "dmarc.missing"]);
      clock.advance(10_000);
      assert.deepEqual(
        (await domains.missingRecords(made)).map(({ name }) => name),
        ["rp-bounce._domainkey.example.com"],
      );
    });

    test("rotate keys, with the new ones alongside the active ones", async (t) => {
      const { domains, dkimKeys, zone, records } = await open(t, engine);
      const { id } = await domains.create(zone, "example.com");
      const name = { zone: zone.id, domain: "example.com", use: "sending" as const };
      await domains.rotateDkim(zone, "example.com");
      assert.equal((await refusal(domains.rotateDkim(zone, "other.example.com")))[0], "noSendingDomain");
      assert.deepEqual(
        [
          (await records("rp-bounce._domainkey.example.com")).length,
          (await records("rp-bounce-2._domainkey.example.com")).length,
          (await dkimKeys.signers(name))[0]!.selector,
        ],
        [1, 1, "rp-bounce"],
      );
      await dkimKeys.promote(name);
      assert.equal((await dkimKeys.signers(name))[0]!.selector, "rp-bounce-2");
      await dkimKeys.sweep(Number.MAX_SAFE_INTEGER);
      await domains.republish(zone, "example.com");
      assert.deepEqual(
        [
          (await records("rp-bounce._domainkey.example.com")).length,
          (await records("rp-bounce-2._domainkey.example.com")).length,
          (await domains.status(zone, id)).status,
        ],
        [0, 1, "ready"],
      );
    });
  });
}
