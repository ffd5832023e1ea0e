import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { all, BadRequestError, failsWith, sdk, toFile } from "./cloudflare-sdk.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

interface Record {
  id: string;
  type: string;
  name: string;
  content: string;
  ttl: number;
}

describe("cloudflare SDK: zones and their DNS records", () => {
  const scope = createScope();
  let platform: Platform;
  let client: ReturnType<typeof sdk>;
  let zone_id: string;
  before(async () => {
    platform = await startPlatform(scope);
    client = sdk(platform, { apiToken: platform.token });
  });
  after(scope.close);

  const records = (query: object = {}) => all<Record>(client.dns.records.list({ zone_id, ...query }));
  const rows = (list: Record[]) => list.map(({ type, name, content }) => [type, name, content].join(" ")).sort();

  it("zones are created, found by name, and listed to the end, and duplicates are rejected", async () => {
    for (const name of ["example.net", "example.org", "example.com"]) {
      const zone = await client.zones.create({ account: { id: platform.account }, name, type: "full" });
      assert.deepEqual([zone.name, zone.account.id], [name, platform.account]);
      zone_id = zone.id;
    }
    assert.deepEqual((await all(client.zones.list({ per_page: 2 }))).map(({ name }) => name).sort(), [
      "example.com",
      "example.net",
      "example.org",
    ]);
    assert.deepEqual(
      (await all(client.zones.list({ name: "example.com", account: { id: platform.account } }))).map(({ id }) => id),
      [zone_id],
    );
    assert.equal((await client.zones.get({ zone_id })).name, "example.com");
    await assert.rejects(
      client.zones.create({ account: { id: platform.account }, name: "example.com" }),
      (error: { status: number; errors: { code: number }[] }) => error.errors[0]!.code === 1061,
    );
    await assert.rejects(
      client.zones.get({ zone_id: "0".repeat(32) }),
      (error: { status: number }) => error.status === 403 || error.status === 404,
    );
  });

  it("records are created, shown, updated, replaced and deleted", async () => {
    const made = await client.dns.records.create({
      zone_id,
      type: "A",
      name: "www.example.com",
      content: "192.0.2.1",
      ttl: 300,
      comment: "the site",
    });
    assert.deepEqual(
      [made.type, made.name, made.content, made.ttl, made.comment],
      ["A", "www.example.com", "192.0.2.1", 300, "the site"],
    );
    const mail = await client.dns.records.create({
      zone_id,
      type: "MX",
      name: "@",
      content: "mx.example.com",
      priority: 10,
      ttl: 1,
    });
    assert.deepEqual([mail.name, mail.priority], ["example.com", 10]);
    assert.equal((await client.dns.records.get(made.id, { zone_id })).content, "192.0.2.1");
    assert.equal(
      (
        await client.dns.records.edit(made.id, {
          zone_id,
          type: "A",
          name: "www.example.com",
          ttl: 300,
          content: "192.0.2.2",
        })
      ).content,
      "192.0.2.2",
    );
    assert.equal(
      (
        await client.dns.records.update(made.id, {
          zone_id,
          type: "A",
          name: "web.example.com",
          content: "192.0.2.3",
          ttl: 60,
        })
      ).name,
      "web.example.com",
    );
    assert.deepEqual(rows(await records({ type: "A" })), ["A web.example.com 192.0.2.3"]);
    assert.deepEqual(rows(await records({ name: { exact: "web.example.com" } })), ["A web.example.com 192.0.2.3"]);
    assert.deepEqual(rows(await records({ content: { startswith: "192.0." } })), ["A web.example.com 192.0.2.3"]);
    assert.equal((await client.dns.records.delete(made.id, { zone_id })).id, made.id);
    await assert.rejects(client.dns.records.get(made.id, { zone_id }), failsWith(404, 81044));
  });

  it("invalid records are rejected", async () => {
    await assert.rejects(
      client.dns.records.create({ zone_id, type: "A", name: "bad.example.com", content: "not an address", ttl: 60 }),
      BadRequestError,
    );
    await client.dns.records.create({
      zone_id,
      type: "CNAME",
      name: "alias.example.com",
      content: "example.net",
      ttl: 60,
    });
    await assert.rejects(
      client.dns.records.create({ zone_id, type: "TXT", name: "alias.example.com", content: "beside", ttl: 60 }),
      BadRequestError,
    );
  });

  it("a batch is applied completely or not at all", async () => {
    const alias = (await records({ type: "CNAME" }))[0]!;
    const text = (name: string) => ({ type: "TXT", name, content: `"${name}"`, ttl: 60 });
    await assert.rejects(
      client.dns.records.batch({
        zone_id,
        deletes: [{ id: alias.id }],
        posts: [text("one"), { type: "A", name: "two", content: "no address", ttl: 60 }],
      }),
      BadRequestError,
    );
    assert.deepEqual(rows(await records({ type: "CNAME" })), ["CNAME alias.example.com example.net"]);
    const done = await client.dns.records.batch({
      zone_id,
      deletes: [{ id: alias.id }],
      posts: [text("one"), text("two")],
    });
    assert.deepEqual([done.deletes.length, done.posts.length], [1, 2]);
    assert.deepEqual(rows(await records({ type: "CNAME" })), []);
  });

  it("a zone file is imported, listed to the end, and exported", async () => {
    const file =
      [
        "$ORIGIN example.com.",
        "$TTL 600",
        ...Array.from({ length: 45 }, (_, index) => `host${index} IN A 192.0.2.${index + 1}`),
        'note IN TXT "a; b" "c"',
      ].join("\n") + "\n";
    const imported = await client.dns.records.import({ zone_id, file: await toFile(Buffer.from(file), "zone.txt") });
    assert.equal(imported.recs_added, 46);
    assert.equal((await records({ type: "A", per_page: 20 })).length, 45);
    const exported = await client.dns.records.export({ zone_id });
    assert.match(exported, /host44\.example\.com\.\s+600\s+IN\s+A\s+192\.0\.2\.45/);
    assert.match(exported, /note\.example\.com\.\s+600\s+IN\s+TXT\s+"a; b" "c"/);
  });

  it("a zone is deleted with its records", async () => {
    assert.equal((await client.zones.delete({ zone_id })).id, zone_id);
    assert.deepEqual(await all(client.zones.list({ name: "example.com" })), []);
    await assert.rejects(records(), (error: { status: number }) => error.status === 403 || error.status === 404);
  });
});
