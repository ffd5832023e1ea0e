import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createManualClock, listen, randomIds, silentLog } from "../../kernel/index.ts";
import { migrate, openFsObjects, openSqlite } from "../../store/index.ts";
import { createR2Service, r2Migrations } from "../bindings/r2/index.ts";
import { bucketSettingsMigrations, createBucketSettings } from "../bucket-settings/index.ts";
import { createPublicBuckets, managedHost } from "./http.ts";

async function start(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "public-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...r2Migrations, ...bucketSettingsMigrations]);
  const clock = createManualClock(Date.now());
  const settings = createBucketSettings({ db, clock, ids: randomIds });
  const { buckets, bucketList } = createR2Service({ db, objects: await openFsObjects({ folder }), clock });
  const pages = createPublicBuckets({ buckets, settings, domain: "public.test", log: silentLog });
  const server = createServer((incoming, response) => {
    void (async () => {
      const handler = await pages.at(incoming.headers.host!);
      if (handler === undefined) response.writeHead(421).end();
      else await handler(incoming, response);
    })();
  });
  const { port } = await listen(server, { host: "127.0.0.1", port: 0 });
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await buckets.close();
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { id, name } = await bucketList.create("account", "bucket");
  const ref = { id, name, account: "account" };
  await buckets.put(id, "a/b c.txt", Buffer.from("0123456789"), {
    httpMetadata: { contentType: "text/plain" },
    customMetadata: { owner: "x" },
  });
  async function visit(host: string, path: string, { method = "GET", headers = {} } = {}) {
    const sent = request({ host: "127.0.0.1", port, path, method, headers: { host, ...headers }, agent: false });
    sent.end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const text = Buffer.concat((await response.toArray()) as Buffer[]).toString();
    return { status: response.statusCode!, headers: response.headers, text };
  }
  return { settings, ref, visit, host: managedHost(id, "public.test") };
}

test("a bucket is public at its managed host only while that is enabled", async (t) => {
  const { settings, ref, visit, host } = await start(t);
  assert.equal((await visit(host, "/a/b%20c.txt")).status, 404);
  await settings.setManaged(ref, true);
  const { status, text, headers } = await visit(host, "/a/b%20c.txt?x=1");
  assert.deepEqual(
    [status, text, headers["content-type"], headers["x-amz-meta-owner"], headers["cf-r2-storage-class"]],
    [200, "0123456789", "text/plain", undefined, undefined],
  );
  await settings.setManaged(ref, false);
  assert.equal((await visit(host, "/a/b%20c.txt")).status, 404);
  assert.equal((await visit("pub-x.public.test", "/")).status, 421);
});

test("serves ranges and conditions, but no lists and no changes", async (t) => {
  const { settings, ref, visit, host } = await start(t);
  await settings.setManaged(ref, true);
  const path = "/a/b%20c.txt";
  const part = await visit(host, path, { headers: { range: "bytes=1-2" } });
  assert.deepEqual([part.status, part.text, part.headers["content-range"]], [206, "12", "bytes 1-2/10"]);
  const beyond = await visit(host, path, { headers: { range: "bytes=20-" } });
  assert.deepEqual([beyond.status, beyond.headers["content-range"]], [416, "bytes */10"]);
  assert.equal((await visit(host, path, { headers: { "if-none-match": part.headers.etag! } })).status, 304);
  const head = await visit(host, path, { method: "HEAD" });
  assert.deepEqual([head.status, head.headers["content-length"], head.text], [200, "10", ""]);
  for (const absent of ["/", "/?list-type=2", "/a/", "/none", "/%zz", "/a%00"])
    assert.equal((await visit(host, absent)).status, 404, absent);
  for (const method of ["PUT", "DELETE", "POST"])
    assert.equal((await visit(host, path, { method })).status, 405, method);
});

test("a custom domain serves the bucket with its CORS rules", async (t) => {
  const { settings, ref, visit } = await start(t);
  const domain = {
    domain: "files.example.com",
    bucket: ref.id,
    account: ref.account,
    zone: "z",
    enabled: true,
    minTls: "1.0" as const,
    ciphers: [],
  };
  await settings.addDomain(domain);
  await settings.setCors(ref, [
    { allowed: { origins: ["https://a.example"], methods: ["GET"] }, exposeHeaders: ["ETag"] },
  ]);
  const read = (origin: string) => visit("files.example.com", "/a/b%20c.txt", { headers: { origin } });
  const allowed = await read("https://a.example");
  assert.deepEqual(
    [allowed.status, allowed.headers["access-control-allow-origin"], allowed.headers["access-control-expose-headers"]],
    [200, "https://a.example", "ETag"],
  );
  const other = await read("https://b.example");
  assert.deepEqual(
    [other.status, other.headers["access-control-allow-origin"], other.headers.vary],
    [200, undefined, "Origin"],
  );
  const preflight = (method: string) =>
    visit("files.example.com", "/a", {
      method: "OPTIONS",
      headers: { origin: "https://a.example", "access-control-request-method": method },
    });
  assert.deepEqual([(await preflight("GET")).status, (await preflight("PUT")).status], [204, 403]);
  assert.equal((await visit("other.example.com", "/a")).status, 421);
});
