import assert from "node:assert/strict";
import { createHash, randomFillSync } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { all, failsWith, NotFoundError, sdk } from "./cloudflare-sdk.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

describe("cloudflare SDK: KV, R2, D1", () => {
  const scope = createScope();
  let platform: Platform;
  let account_id: string;
  let client: ReturnType<typeof sdk>;
  before(async () => {
    platform = await startPlatform(scope);
    account_id = platform.account;
    client = sdk(platform, { apiToken: platform.token });
  });
  after(scope.close);

  describe("KV", () => {
    let id: string;
    const names = (list: AsyncIterable<{ name: string }>) => all(list).then((keys) => keys.map(({ name }) => name));

    it("namespaces are created, renamed, and listed page by page to the end", async () => {
      for (let number = 1; number <= 7; number++)
        ({ id } = await client.kv.namespaces.create({ account_id, title: `cache ${number}` }));
      assert.deepEqual(await client.kv.namespaces.get(id, { account_id }), {
        id,
        title: "cache 7",
        supports_url_encoding: true,
      });
      await client.kv.namespaces.update(id, { account_id, title: "cache 0" });
      const listed = await all<{ title: string }>(
        client.kv.namespaces.list({ account_id, per_page: 3, order: "title", direction: "desc" }),
      );
      assert.deepEqual(
        listed.map(({ title }) => title),
        ["cache 6", "cache 5", "cache 4", "cache 3", "cache 2", "cache 1", "cache 0"],
      );
      await assert.rejects(client.kv.namespaces.create({ account_id, title: "cache 0" }), failsWith(400, 10014));
      await assert.rejects(client.kv.namespaces.get("0".repeat(32), { account_id }), failsWith(404, 10013));
    });

    it("values have metadata and a TTL", async () => {
      const { values, metadata } = client.kv.namespaces;
      const key = "a/b c?é";
      await values.update(key, {
        account_id,
        namespace_id: id,
        value: "value 1",
        metadata: JSON.stringify({ tag: [1] }),
        expiration_ttl: 3600,
      });
      const read = await values.get(key, { account_id, namespace_id: id });
      assert.equal(await read.text(), "value 1");
      assert.deepEqual(await metadata.get(key, { account_id, namespace_id: id }), { tag: [1] });
      await values.delete(key, { account_id, namespace_id: id });
      await assert.rejects(values.get(key, { account_id, namespace_id: id }), NotFoundError);
    });

    it("values are written and deleted in bulk, and all keys are listed by cursor", async () => {
      const body = Array.from({ length: 2_345 }, (_, index) => ({
        key: `k/${String(index).padStart(4, "0")}`,
        value: String(index),
      }));
      const { successful_key_count, unsuccessful_keys } = await client.kv.namespaces.bulkUpdate(id, {
        account_id,
        body,
      });
      assert.deepEqual([successful_key_count, unsuccessful_keys], [body.length, []]);
      assert.deepEqual(
        await names(client.kv.namespaces.keys.list(id, { account_id, limit: 500 })),
        body.map(({ key }) => key),
      );
      assert.deepEqual(
        await names(client.kv.namespaces.keys.list(id, { account_id, prefix: "k/12", limit: 10 })),
        body.slice(1200, 1300).map(({ key }) => key),
      );
      assert.deepEqual((await client.kv.namespaces.bulkGet(id, { account_id, keys: ["k/0007", "none"] })).values, {
        "k/0007": "7",
      });
      await client.kv.namespaces.bulkDelete(id, { account_id, body: body.slice(1).map(({ key }) => key) });
      assert.deepEqual(await names(client.kv.namespaces.keys.list(id, { account_id })), ["k/0000"]);
    });

    it("a namespace is deleted with its keys", async () => {
      await client.kv.namespaces.delete(id, { account_id });
      await assert.rejects(names(client.kv.namespaces.keys.list(id, { account_id })), failsWith(404, 10013));
    });
  });

  describe("R2", () => {
    it("buckets are created, shown and listed, and duplicates are rejected", async () => {
      for (const name of ["films", "posters", "trailers"])
        assert.equal((await client.r2.buckets.create({ account_id, name })).name, name);
      const { buckets } = await client.r2.buckets.list({ account_id, per_page: 2 });
      assert.deepEqual(
        buckets.map(({ name }: { name: string }) => name),
        ["films", "posters"],
      );
      assert.equal((await client.r2.buckets.get("films", { account_id })).storage_class, "Standard");
      await assert.rejects(client.r2.buckets.create({ account_id, name: "films" }), failsWith(409, 10004));
      await assert.rejects(client.r2.buckets.get("none", { account_id }), failsWith(404, 10006));
    });

    it("objects are stored, read, listed by cursor, and deleted", async () => {
      const { objects } = client.r2.buckets;
      const bytes = randomFillSync(new Uint8Array(300_000));
      await objects.upload("a/b c.bin", new Blob([bytes]), { account_id, bucket_name: "films" });
      const back = await objects.get("a/b c.bin", { account_id, bucket_name: "films" });
      assert.deepEqual(new Uint8Array(await back.arrayBuffer()), bytes);
      for (let number = 0; number < 7; number++)
        await objects.upload(`n/${number}`, new Blob([String(number)]), { account_id, bucket_name: "films" });
      const keys = (await all<{ key: string }>(objects.list("films", { account_id, prefix: "n/", per_page: 3 }))).map(
        ({ key }) => key,
      );
      assert.deepEqual(keys, ["n/0", "n/1", "n/2", "n/3", "n/4", "n/5", "n/6"]);
      await objects.delete("a/b c.bin", { account_id, bucket_name: "films" });
      await assert.rejects(objects.get("a/b c.bin", { account_id, bucket_name: "films" }), NotFoundError);
      await assert.rejects(client.r2.buckets.delete("films", { account_id }), failsWith(409, 10008));
      for (const key of keys) await objects.delete(key, { account_id, bucket_name: "films" });
      await client.r2.buckets.delete("films", { account_id });
      await assert.rejects(client.r2.buckets.get("films", { account_id }), failsWith(404, 10006));
    });
  });

  describe("D1", () => {
    let id: string;
    const run = (sql: string, params?: unknown[]) =>
      all<{ success: boolean; results: unknown[]; meta: { changes: number } }>(
        client.d1.database.query(id, { account_id, sql, ...(params && { params }) }),
      );

    it("databases are created, shown, and listed page by page to the end", async () => {
      for (let number = 1; number <= 5; number++)
        id = (await client.d1.database.create({ account_id, name: `library-${number}` })).uuid;
      const { name, num_tables, read_replication } = await client.d1.database.get(id, { account_id });
      assert.deepEqual([name, num_tables, read_replication], ["library-5", 0, { mode: "disabled" }]);
      assert.equal((await all(client.d1.database.list({ account_id, per_page: 2 }))).length, 5);
      assert.deepEqual(
        (await all<{ uuid: string }>(client.d1.database.list({ account_id, name: "library-5" }))).map(
          ({ uuid }) => uuid,
        ),
        [id],
      );
    });

    it("query and raw accept parameters, and an SQL error is reported", async () => {
      await run("CREATE TABLE films (id INTEGER PRIMARY KEY, name TEXT, year INTEGER)");
      const [inserted] = await run("INSERT INTO films (name, year) VALUES (?, ?), (?, ?)", [
        "M",
        1931,
        "Nosferatu",
        1922,
      ]);
      assert.equal(inserted!.meta.changes, 2);
      const [first, second] = await run("SELECT name FROM films ORDER BY year; SELECT count(*) AS n FROM films");
      assert.deepEqual([first!.results, second!.results], [[{ name: "Nosferatu" }, { name: "M" }], [{ n: 2 }]]);
      const [raw] = await all<{ results: unknown }>(
        client.d1.database.raw(id, { account_id, sql: "SELECT id, name FROM films WHERE year < ?", params: ["1930"] }),
      );
      assert.deepEqual(raw!.results, { columns: ["id", "name"], rows: [[2, "Nosferatu"]] });
      await assert.rejects(run("SELEC"), failsWith(400, 7500));
    });

    it("import uploads a file to the URL it receives, and export returns a URL", async () => {
      const sql = "INSERT INTO films (name, year) VALUES ('Metropolis', 1927);\n";
      const etag = createHash("md5").update(sql).digest("hex");
      const { upload_url, filename } = await client.d1.database.import(id, { account_id, action: "init", etag });
      const sent = await fetch(upload_url, { method: "PUT", body: sql });
      assert.equal(sent.headers.get("etag")?.replaceAll('"', ""), etag);
      let status = await client.d1.database.import(id, { account_id, action: "ingest", etag, filename });
      while (status.status === "active")
        status = await client.d1.database.import(id, {
          account_id,
          action: "poll",
          current_bookmark: status.at_bookmark,
        });
      assert.deepEqual([status.success, status.status, status.result.num_queries], [true, "complete", 1]);
      let exported = await client.d1.database.export(id, { account_id, output_format: "polling" });
      while (exported.status === "active")
        exported = await client.d1.database.export(id, {
          account_id,
          output_format: "polling",
          current_bookmark: exported.at_bookmark,
        });
      assert.match(await (await fetch(exported.result.signed_url)).text(), /CREATE TABLE films[^]*'Metropolis',1927/);
    });

    it("a deleted database is not found", async () => {
      await client.d1.database.delete(id, { account_id });
      await assert.rejects(client.d1.database.get(id, { account_id }), failsWith(404, 7404));
      await assert.rejects(run("SELECT 1"), failsWith(404, 7404));
    });
  });
});
