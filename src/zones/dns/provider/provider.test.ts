import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { recordDraft } from "../../records/change.ts";
import { openZones } from "../../zones.testing.ts";
import { contentOf, dataOf } from "../../records/content.ts";
import { createEmbeddedProvider } from "./embedded.ts";
import { createPowerDnsProvider } from "./powerdns.ts";
import { startFakePowerDns } from "./power-dns.testing.ts";
import { providerConformance, refusedAs, type TestProvider } from "./provider.conformance.ts";
import { presentData } from "../../../protocol/dns/index.ts";

const ZONE = { id: "z".repeat(32), account: "a".repeat(32), name: "example.com" };

onEveryDatabase((engine) => {
  providerConformance("embedded", async (t: TestContext): Promise<TestProvider> => {
    const { records, newZone } = await openZones(t, engine);
    const zone = await newZone();
    return {
      provider: createEmbeddedProvider({ records }),
      zone,
      foreign: async (record) => void (await records.create(zone, record)),
    };
  });

  test("the embedded provider locks records and shows their owner", async (t) => {
    const { records, newZone } = await openZones(t, engine);
    const zone = await newZone();
    await createEmbeddedProvider({ records }).apply(zone, {
      owner: "email-routing",
      locked: true,
      meta: { email_routing: true },
      add: [{ type: "MX", name: "@", content: "mx.example", priority: 1 }],
      remove: [],
      mustBeAbsent: [],
    });
    const [record] = await records.managed.list(zone.id, "email-routing");
    assert.deepEqual([record!.locked, record!.meta], [true, { email_routing: true }]);
    assert.equal((await refusedAs(records.delete(zone, record!.id))).kind, "locked");
  });
});

for (const filters of [true, false]) {
  providerConformance(`powerdns ${filters ? "with filters" : "without filters"}`, async (t) => {
    const { url, sets } = await startFakePowerDns(t, { filters });
    return {
      provider: createPowerDnsProvider({ url, apiKey: "secret", fetch }),
      zone: ZONE,
      async foreign(request) {
        const { name, type, ...record } = recordDraft(request, ZONE);
        const set = sets.get(`${name}. ${type}`) ?? { name: `${name}.`, type, ttl: 60, records: [] };
        set.records.push({
          content: presentData(type, dataOf({ type, ...record }), { absolute: true }),
          disabled: false,
        });
        sets.set(`${name}. ${type}`, set);
      },
    };
  });
}

describe("powerdns", () => {
  const change = { owner: "x", add: [{ type: "TXT", name: "@", content: "ours" }], remove: [], mustBeAbsent: [] };

  test("keeps unparsable records, disabled records, and the TTL of a set", async (t) => {
    const { url, sets } = await startFakePowerDns(t);
    const strange = [
      { content: '"theirs"', disabled: true },
      { content: '"unfinished', disabled: false },
    ];
    sets.set("example.com. TXT", { name: "example.com.", type: "TXT", ttl: 77, records: strange });
    const provider = createPowerDnsProvider({ url: `${url}/`, apiKey: "secret", fetch });
    await provider.apply(ZONE, change);
    assert.deepEqual(sets.get("example.com. TXT"), {
      name: "example.com.",
      type: "TXT",
      ttl: 77,
      records: [...strange, { content: '"ours"', disabled: false }],
    });
    await provider.apply(ZONE, { ...change, add: [], remove: change.add });
    assert.deepEqual(sets.get("example.com. TXT")!.records, strange);
  });

  test("sends no request if nothing has changed", async (t) => {
    const { url, seen } = await startFakePowerDns(t);
    const provider = createPowerDnsProvider({ url, apiKey: "secret", fetch });
    for (let time = 0; time < 2; time++) await provider.apply(ZONE, change);
    assert.deepEqual(
      seen.map((line) => line.split(" ")[0]),
      ["GET", "PATCH", "GET"],
    );
  });

  test("reports problems with key, zone, server and response", async (t) => {
    const { url } = await startFakePowerDns(t);
    const failure = async (options: { url?: string; apiKey?: string; fetch?: typeof fetch }, zone = ZONE) =>
      (await refusedAs(createPowerDnsProvider({ url, apiKey: "secret", fetch, ...options }).apply(zone, change))).kind;
    assert.equal(await failure({ apiKey: "wrong" }), "badKey");
    assert.equal(await failure({}, { ...ZONE, name: "example.net" }), "notServed");
    assert.equal(await failure({ url: "http://127.0.0.1:1" }), "unreachable");
    assert.equal(await failure({ fetch: async () => new Response("<html>") }), "badReply");
    assert.equal(
      await failure({
        fetch: async (_, init) =>
          init?.method === "PATCH" ? Response.json({ error: "no" }, { status: 422 }) : Response.json({ rrsets: [] }),
      }),
      "refused",
    );
  });
});

test("the content of a provider record equals the content of a stored record", () => {
  const draft = recordDraft({ type: "MX", name: "@", content: "Mail.Example.", priority: 3 }, ZONE);
  assert.equal(contentOf(draft.type, dataOf(draft)), "mail.example");
});
