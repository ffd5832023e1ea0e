import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { UserError } from "../../../kernel/index.ts";
import type { RecordRequest, RecordZone } from "../../records/types.ts";
import type { DnsChange, DnsProvider } from "./port.ts";

export interface TestProvider {
  provider: DnsProvider;
  zone: RecordZone;
  /** Adds a record as a different client would. */
  foreign(record: RecordRequest): Promise<void>;
}

const MX = (content: string, priority: number): RecordRequest => ({
  type: "MX",
  name: "example.com",
  content,
  priority,
});
const SPF: RecordRequest = { type: "TXT", name: "example.com", content: "v=spf1 include:_spf.reelpost.example ~all" };
const DKIM: RecordRequest = {
  type: "TXT",
  name: "rp1._domainkey.example.com",
  content: `v=DKIM1; h=sha256; k=rsa; p=${"A".repeat(392)}`,
};
const ROUTES = [MX("route1.mx.example", 13), MX("route2.mx.example", 40), MX("route3.mx.example", 86)];
const ROUTING: DnsChange = {
  owner: "email-routing",
  add: [...ROUTES, SPF, DKIM],
  remove: [],
  mustBeAbsent: [
    { name: "example.com", type: "MX" },
    { name: "example.com", type: "TXT", text: "v=spf1" },
  ],
};
const SETS = [
  { name: "example.com", type: "MX" },
  { name: "example.com", type: "TXT" },
  { name: "rp1._domainkey.example.com", type: "TXT" },
] as const;

export async function refusedAs(promise: Promise<unknown>): Promise<UserError> {
  try {
    await promise;
  } catch (err) {
    if (err instanceof UserError) return err;
    throw err;
  }
  throw new assert.AssertionError({ message: "it was not refused" });
}

/** Tests the behaviour of every DnsProvider. `open` returns an empty zone example.com. */
export function providerConformance(name: string, open: (t: TestContext) => Promise<TestProvider>): void {
  describe(`DNS provider ${name}`, () => {
    const state = async ({ provider, zone }: TestProvider) =>
      (await provider.current(zone, SETS))
        .map(({ name: owner, type, content, priority }) => `${owner} ${type} ${priority ?? "-"} ${content}`)
        .sort();

    test("adds records, adds them again without duplicates, and removes them", async (t) => {
      const opened = await open(t);
      const { provider, zone } = opened;
      assert.deepEqual(await state(opened), []);
      await provider.apply(zone, ROUTING);
      const all = [
        "example.com MX 13 route1.mx.example",
        "example.com MX 40 route2.mx.example",
        "example.com MX 86 route3.mx.example",
        'example.com TXT - "v=spf1 include:_spf.reelpost.example ~all"',
        `rp1._domainkey.example.com TXT - "v=DKIM1; h=sha256; k=rsa; p=${"A".repeat(255 - 28)}" "${"A".repeat(392 - (255 - 28))}"`,
      ];
      assert.deepEqual(await state(opened), all);
      await provider.apply(zone, ROUTING);
      assert.deepEqual(await state(opened), all);
      // One host is replaced: the new record appears in the same change in which the old one disappears.
      await provider.apply(zone, {
        ...ROUTING,
        add: [MX("route4.mx.example", 90)],
        remove: [ROUTES[2]!, MX("never.mx.example", 1)],
        mustBeAbsent: [],
      });
      assert.deepEqual((await state(opened)).slice(0, 3), [
        "example.com MX 13 route1.mx.example",
        "example.com MX 40 route2.mx.example",
        "example.com MX 90 route4.mx.example",
      ]);
      await provider.apply(zone, {
        owner: "email-routing",
        add: [],
        remove: [...ROUTES, MX("route4.mx.example", 90), SPF, DKIM],
        mustBeAbsent: [],
      });
      assert.deepEqual(await state(opened), []);
      await provider.apply(zone, { owner: "email-routing", add: [], remove: [SPF], mustBeAbsent: [] });
    });

    test("rejects the change and keeps foreign MX and SPF records", async (t) => {
      const opened = await open(t);
      await opened.foreign(MX("mx.google.example", 1));
      const before = await state(opened);
      const refused = await refusedAs(opened.provider.apply(opened.zone, ROUTING));
      assert.deepEqual(
        [refused.kind, refused.message],
        ["foreignRecords", "example.com already has other MX records: 1 mx.google.example."],
      );
      assert.deepEqual(await state(opened), before);
      await opened.provider.apply(opened.zone, { ...ROUTING, add: [SPF], mustBeAbsent: [] });
      assert.deepEqual((await state(opened)).length, 2, "without records that must be absent, nothing conflicts");
    });

    test("accepts foreign TXT records, but not a second SPF record", async (t) => {
      const opened = await open(t);
      await opened.foreign({ type: "TXT", name: "@", content: "site-verification=abc" });
      await opened.provider.apply(opened.zone, ROUTING);
      assert.equal((await state(opened)).length, 6);
      await opened.provider.apply(opened.zone, { owner: "email-routing", add: [], remove: [SPF], mustBeAbsent: [] });
      await opened.foreign({ type: "TXT", name: "@", content: "V=SPF1 -all" });
      const refused = await refusedAs(opened.provider.apply(opened.zone, ROUTING));
      assert.deepEqual(
        [refused.kind, refused.message],
        ["foreignRecords", 'example.com already has other TXT records: "V=SPF1 -all".'],
      );
      assert.equal((await state(opened)).length, 6);
    });

    test("reports a CNAME conflict in both directions", async (t) => {
      const opened = await open(t);
      const { provider, zone } = opened;
      await opened.foreign({ type: "CNAME", name: "rp1._domainkey", content: "elsewhere.example.net" });
      const refused = await refusedAs(provider.apply(zone, ROUTING));
      assert.equal(refused.kind, "nameTaken");
      assert.match(refused.message, /rp1\._domainkey\.example\.com/);
      assert.deepEqual(await state(opened), []);
      const alias: DnsChange = {
        owner: "email-sending",
        add: [{ type: "CNAME", name: "_mta-sts", content: "_mta-sts.mx.example" }],
        remove: [],
        mustBeAbsent: [],
      };
      await provider.apply(zone, alias);
      await provider.apply(zone, alias);
      await opened.foreign({ type: "TXT", name: "taken", content: "x" });
      assert.equal(
        (
          await refusedAs(
            provider.apply(zone, { ...alias, add: [{ type: "CNAME", name: "taken", content: "_mta-sts.mx.example" }] }),
          )
        ).kind,
        "nameTaken",
      );
    });

    test("rejects invalid records before contacting the server", async (t) => {
      const { provider, zone } = await open(t);
      assert.equal(
        (await refusedAs(provider.apply(zone, { ...ROUTING, add: [MX("192.0.2.1", 1)] }))).kind,
        "dnsInvalid",
      );
    });

    test("accepts all octet values, and ten concurrent changes", async (t) => {
      const opened = await open(t);
      const { provider, zone } = opened;
      const odd: RecordRequest = {
        type: "TXT",
        name: "odd",
        content: '"quote \\" semicolon; back\\\\slash" "\\195\\188 ü"',
      };
      await provider.apply(zone, {
        owner: "a",
        add: [odd, { type: "SRV", name: "_submissions._tcp", content: "1 465 mail.example.com", priority: 0 }],
        remove: [],
        mustBeAbsent: [],
      });
      await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          provider.apply(zone, {
            owner: "a",
            add: [{ type: "TXT", name: "many", content: `n${index}` }],
            remove: [],
            mustBeAbsent: [],
          }),
        ),
      );
      const found = await provider.current(zone, [
        { name: "odd.example.com", type: "TXT" },
        { name: "_submissions._tcp.example.com", type: "SRV" },
        { name: "many.example.com", type: "TXT" },
      ]);
      assert.deepEqual(
        found.slice(0, 2).map(({ content, priority }) => [content, priority]),
        [
          ['"quote \\" semicolon; back\\\\slash" "\\195\\188 \\195\\188"', null],
          ["1 465 mail.example.com", 0],
        ],
      );
      assert.equal(found.length, 12);
      await provider.apply(zone, { owner: "a", add: [], remove: [odd], mustBeAbsent: [] });
      assert.deepEqual(await provider.current(zone, [{ name: "odd.example.com", type: "TXT" }]), []);
    });
  });
}
