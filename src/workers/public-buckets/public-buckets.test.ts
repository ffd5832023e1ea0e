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

async function start(t: TestContext, { hasCustomDomains = true } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "public-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...r2Migrations, ...bucketSettingsMigrations]);
  const clock = createManualClock(Date.now());
  const settings = createBucketSettings({ db, clock, ids: randomIds });
  const { buckets, bucketList } = createR2Service({ db, objects: await openFsObjects({ folder }), clock });
  /** The accounts that own host names. */
  const owners = new Map<string, string>();
  const publicBuckets = createPublicBuckets({
    buckets,
    settings,
    owners: { find: async (owned) => owners.get(owned) },
    hasCustomDomains,
    domain: "public.test",
    log: silentLog,
  });
  const server = createServer((incoming, response) => {
    void (async () => {
      const handler = await publicBuckets.handlerFor(incoming.headers.host!);
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
    const clientRequest = request({
      host: "127.0.0.1",
      port,
      path,
      method,
      headers: { host, ...headers },
      agent: false,
    });
    clientRequest.end();
    const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
    const text = Buffer.concat((await response.toArray()) as Buffer[]).toString();
    return { status: response.statusCode!, headers: response.headers, text };
  }
  return { settings, ref, owners, visit, host: managedHost(id, "public.test") };
}

test("a bucket is public on its managed host only while that host is enabled", async (t) => {
  const { settings, ref, visit, host } = await start(t);
  assert.equal((await visit(host, "/a/b%20c.txt")).status, 404);
  await settings.setManagedHost(ref, true);
  const { status, text, headers } = await visit(host, "/a/b%20c.txt?x=1");
  assert.deepEqual(
    [status, text, headers["content-type"], headers["x-amz-meta-owner"], headers["cf-r2-storage-class"]],
    [200, "0123456789", "text/plain", undefined, undefined],
  );
  await settings.setManagedHost(ref, false);
  assert.equal((await visit(host, "/a/b%20c.txt")).status, 404);
  assert.equal((await visit("pub-x.public.test", "/")).status, 421);
});

test("a public bucket serves range and conditional requests, but no lists, and accepts no writes", async (t) => {
  const { settings, ref, visit, host } = await start(t);
  await settings.setManagedHost(ref, true);
  const path = "/a/b%20c.txt";
  const rangeResponse = await visit(host, path, { headers: { range: "bytes=1-2" } });
  assert.deepEqual(
    [rangeResponse.status, rangeResponse.text, rangeResponse.headers["content-range"]],
    [206, "12", "bytes 1-2/10"],
  );
  const invalidRangeResponse = await visit(host, path, { headers: { range: "bytes=20-" } });
  assert.deepEqual([invalidRangeResponse.status, invalidRangeResponse.headers["content-range"]], [416, "bytes */10"]);
  assert.equal((await visit(host, path, { headers: { "if-none-match": rangeResponse.headers.etag! } })).status, 304);
  const head = await visit(host, path, { method: "HEAD" });
  assert.deepEqual([head.status, head.headers["content-length"], head.text], [200, "10", ""]);
  for (const absent of ["/", "/?list-type=2", "/a/", "/none", "/%zz", "/a%00"])
    assert.equal((await visit(host, absent)).status, 404, absent);
  for (const method of ["PUT", "DELETE", "POST"])
    assert.equal((await visit(host, path, { method })).status, 405, method);
});

test("a custom domain serves the bucket with its CORS rules", async (t) => {
  const { settings, ref, owners, visit } = await start(t);
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
  owners.set(domain.domain, ref.account);
  await settings.setCors(ref, [
    { allowed: { origins: ["https://a.example"], methods: ["GET"] }, exposeHeaders: ["ETag"] },
  ]);
  const readFrom = (origin: string) => visit("files.example.com", "/a/b%20c.txt", { headers: { origin } });
  const allowedResponse = await readFrom("https://a.example");
  assert.deepEqual(
    [
      allowedResponse.status,
      allowedResponse.headers["access-control-allow-origin"],
      allowedResponse.headers["access-control-expose-headers"],
    ],
    [200, "https://a.example", "ETag"],
  );
  const otherResponse = await readFrom("https://b.example");
  assert.deepEqual(
    [otherResponse.status, otherResponse.headers["access-control-allow-origin"], otherResponse.headers.vary],
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

test("a custom domain serves the bucket only while its account owns the host", async (t) => {
  const { settings, ref, owners, visit } = await start(t);
  await settings.addDomain({
    domain: "files.example.com",
    bucket: ref.id,
    account: ref.account,
    zone: "z",
    enabled: true,
    minTls: "1.0",
    ciphers: [],
  });
  const status = async () => (await visit("files.example.com", "/a/b%20c.txt")).status;
  assert.equal(await status(), 421);
  owners.set("files.example.com", ref.account);
  assert.equal(await status(), 200);
  // The zone was deleted and now belongs to another account.
  owners.set("files.example.com", "another");
  assert.equal(await status(), 421);
});

test("without known hosts of the API, a bucket is public on its managed host only", async (t) => {
  const { settings, ref, owners, visit, host } = await start(t, { hasCustomDomains: false });
  await settings.setManagedHost(ref, true);
  await settings.addDomain({
    domain: "api.example.com",
    bucket: ref.id,
    account: ref.account,
    zone: "z",
    enabled: true,
    minTls: "1.0",
    ciphers: [],
  });
  owners.set("api.example.com", ref.account);
  assert.equal((await visit("api.example.com", "/a/b%20c.txt")).status, 421);
  assert.equal((await visit(host, "/a/b%20c.txt")).status, 200);
});

test("sends errors to browsers as pages, and to other clients as text", async (t) => {
  const { settings, ref, visit, host } = await start(t);
  const browser = { headers: { accept: "text/html,application/xhtml+xml" } };
  const hidden = await visit(host, "/a", browser);
  assert.deepEqual([hidden.status, hidden.headers["content-type"]], [404, "text/html; charset=utf-8"]);
  assert.match(hidden.text, /<link rel="icon"[^]*<p>Check the address\.<\/p>[^]*This bucket is not public\./);
  assert.match(String(hidden.headers["content-security-policy"]), /frame-ancestors 'none'/);
  await settings.setManagedHost(ref, true);
  assert.match((await visit(host, "/missing", browser)).text, /Object not found\./);
  const head = await visit(host, "/missing", { ...browser, method: "HEAD" });
  assert.deepEqual([head.status, head.text], [404, ""]);
  const plain = await visit(host, "/missing");
  assert.deepEqual([plain.headers["content-type"], plain.text], ["text/plain; charset=utf-8", "Object not found.\n"]);
  assert.match(String(plain.headers.vary), /Accept/);
});
