import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { TestEngine } from "../../../test/support/databases.ts";
import { UserError } from "../../kernel/index.ts";
import { recordOf } from "../../protocol/dns/dns.testing.ts";
import { presentData } from "../../protocol/dns/index.ts";
import { NAME_SERVERS, openZones, refusal } from "../zones.testing.ts";
import { isProxiable } from "./content.ts";
import type { Records } from "./records.ts";
import type { RecordRequest } from "./types.ts";

async function whole(pieces: AsyncGenerator<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) text += piece;
  return text;
}
const page = { page: 1, perPage: 1000 };
const shown = async (records: Records, zone: string) =>
  (await records.list(zone, { order: "name" }, page)).items.map(
    ({ name, type, content, priority, ttl, proxied, comment, tags, data }) => ({
      name,
      type,
      content,
      priority,
      ttl,
      proxied,
      comment,
      tags,
      data,
    }),
  );

export function zoneFileConformance(engine: TestEngine): void {
  describe("zone files", () => {
    test("are imported; existing records and the zone's own SOA and NS are skipped", async (t) => {
      const { records, newZone } = await openZones(t, engine);
      const zone = await newZone();
      await records.create(zone, { type: "A", name: "www", content: "192.0.2.1" });
      const file =
        `$TTL 30\n@ IN SOA ns1 root 1 2 3 4 5\n@ NS ${NAME_SERVERS[0]}.\n@ NS ns.other.example.\nwww 604800 A 192.0.2.1\nwww A 192.0.2.2 ; cf_tags=cf-proxied:true\nwww A 192.0.2.2\n` +
        'mail MX 10 mx ; a remark\n@ TXT "v=DKIM1; k=rsa; p=' +
        "a".repeat(300) +
        '"\n';
      assert.deepEqual(await records.import(zone, file), { added: 4, parsed: 6 });
      assert.deepEqual(
        (await shown(records, zone.id))
          .sort((x, y) => (`${x.name} ${x.type} ${x.content}` < `${y.name} ${y.type} ${y.content}` ? -1 : 1))
          .map(({ name, type, ttl, proxied, comment }) => [name, type, ttl, proxied, comment]),
        [
          ["example.com", "NS", 60, false, null],
          ["example.com", "TXT", 60, false, null],
          ["mail.example.com", "MX", 60, false, "a remark"],
          ["www.example.com", "A", 1, false, null],
          ["www.example.com", "A", 1, true, null],
        ],
      );
      assert.equal((await records.usage(zone.id)).records, 5);
    });

    test("with invalid lines change nothing, and all invalid lines are reported", async (t) => {
      const { records, newZone } = await openZones(t, engine);
      const zone = await newZone();
      await assert.rejects(
        records.import(zone, "a A 192.0.2.1\nb A 192.0.2\nc.example.net. A 192.0.2.1\nd TYPE65280 \\# 0\ne NOPE x\n"),
        (err) => {
          assert.ok(err instanceof UserError && err.kind === "badImport");
          assert.deepEqual(
            (err.details.chain as { message: string }[]).map(({ message }) => message.slice(0, 7)),
            ["line 2:", "line 3:", "line 4:", "line 5:"],
          );
          return true;
        },
      );
      assert.deepEqual(await refusal(records.import(zone, "a A 192.0.2.1\na CNAME b\n")), ["addressExists"]);
      assert.equal((await records.usage(zone.id)).records, 0);
    });

    test("with thousands of records are imported", async (t) => {
      const { records, newZone } = await openZones(t, engine);
      const zone = await newZone();
      const file = Array.from(
        { length: 3000 },
        (_, index) => `h${index % 2990} A 192.0.${index >> 8}.${index & 255}\n`,
      ).join("");
      assert.deepEqual(await records.import(zone, file), { added: 3000, parsed: 3000 });
      assert.deepEqual(await records.import(zone, file), { added: 0, parsed: 3000 });
      assert.equal((await records.usage(zone.id)).records, 3000);
      assert.equal((await whole(records.export(zone))).match(/\tA\t/g)!.length, 3000);
    });

    test("round-trip through export and import", async (t) => {
      const { zones, records, newZone } = await openZones(t, engine);
      const text = (max: number) => fc.string({ maxLength: max }).map((value) => value.trim());
      // CNAME and NS must be the only records of a name: use other names for them.
      const request = fc
        .record({
          record: recordOf(),
          name: fc.constantFrom("@", "a", "*.b", "_x._tcp"),
          ttl: fc.constantFrom(1, 60, 86_400),
          proxied: fc.boolean(),
          comment: fc.oneof(text(60), fc.constant("see cf_tags=x:y, or not")),
          tags: fc.uniqueArray(fc.constantFrom("a:b", "greeting:Hello, world; 100%", "x:", "cf:c,d"), { maxLength: 3 }),
        })
        .map(({ record: { type, data }, name, proxied, ...rest }): RecordRequest => ({
          ...rest,
          type,
          content: presentData(type, data),
          proxied: proxied && isProxiable(type),
          name: type === "CNAME" || type === "NS" ? `only-${type}` : name,
        }));
      let round = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(request, { maxLength: 8 }), async (requests) => {
          const zone = await newZone(`zone${round++}.example`);
          for (const wanted of requests)
            await records
              .create(zone, wanted)
              .catch((err: unknown) =>
                assert.ok(err instanceof UserError && ["identical", "addressExists"].includes(err.kind), String(err)),
              );
          const before = await shown(records, zone.id);
          const file = await whole(records.export(await zones.get(zone.id)));
          await zones.delete(zone.id);
          const again = await newZone(zone.name);
          assert.deepEqual(await records.import(again, file), { added: before.length, parsed: before.length });
          assert.deepEqual(await shown(records, again.id), before);
          assert.equal(
            (await whole(records.export(await zones.get(again.id)))).replace(/SOA.*/, ""),
            file.replace(/SOA.*/, ""),
          );
        }),
        { numRuns: engine.name === "sqlite" ? 60 : 15 },
      );
    });
  });
}
