import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";
import { once } from "node:events";
import { test } from "node:test";
import * as fc from "fast-check";
import { storeErrors } from "../../../store/index.ts";
import { TEST_ACCOUNT, TEST_TOKEN } from "../../api.testing.ts";
import { startStorageApi } from "../storage.testing.ts";

const base = `/accounts/${TEST_ACCOUNT}/r2/buckets`;
const MiB = 1024 * 1024;

async function startWithBucket(...args: Parameters<typeof startStorageApi>) {
  const started = await startStorageApi(...args);
  await started.call("post", base, { body: { name: "bucket" } });
  const { id } = (await started.r2.bucketList.get(TEST_ACCOUNT, "bucket"))!;
  const objects = `${base}/bucket/objects`;
  return {
    ...started,
    id,
    objects,
    keys: async () => (await started.r2.buckets.list(id)).objects.map(({ key }) => key),
  };
}
const codes = (answer: { status: number; body: { errors: { code: number; message: string }[] } }) => [
  answer.status,
  answer.body.errors[0]!.code,
  answer.body.errors[0]!.message,
];

test("buckets are created, listed by cursor, updated and deleted", async (t) => {
  const { call, clock, r2 } = await startStorageApi(t);
  const made = await call("post", base, {
    body: JSON.stringify({ name: "photos", locationHint: "WEUR", storageClass: "InfrequentAccess" }),
    headers: { "content-type": "text/plain;charset=UTF-8" },
  });
  assert.deepEqual(made.body.result, {
    name: "photos",
    creation_date: new Date(clock.now()).toISOString(),
    location: "weur",
    storage_class: "InfrequentAccess",
    jurisdiction: "default",
  });
  assert.deepEqual(codes(await call("post", base, { body: { name: "photos" } })), [
    409,
    10004,
    "The bucket you tried to create already exists, and you own it.",
  ]);
  assert.deepEqual(codes(await call("post", base, { body: { name: "No" } })), [
    400,
    10005,
    "The specified bucket name is not valid.",
  ]);
  assert.equal((await call("post", base, { body: { name: "abc", locationHint: "moon" } })).status, 400);
  await call("post", base, { body: { name: "european" }, headers: { "cf-r2-jurisdiction": "eu" } });
  for (const name of ["a-1", "a-2", "a-3"]) await call("post", base, { body: { name } });

  const names: string[][] = [];
  let cursor: string | undefined;
  do {
    const { body } = await call("get", base, { query: { per_page: 2, ...(cursor !== undefined && { cursor }) } });
    names.push(body.result.buckets.map(({ name }: { name: string }) => name));
    cursor = body.result_info.cursor;
  } while (cursor !== undefined);
  assert.deepEqual(names, [["a-1", "a-2"], ["a-3", "european"], ["photos"]]);
  const found = async (query: Record<string, string>) =>
    (await call("get", base, { query })).body.result.buckets.map(({ name }: { name: string }) => name);
  assert.deepEqual(await found({ name_contains: "op" }), ["european"]);
  assert.deepEqual(await found({ start_after: "a-2", direction: "desc", order: "name" }), ["a-1"]);
  assert.equal((await call("get", base, { query: { cursor: "nonsense!" } })).status, 400);

  assert.equal((await call("get", `${base}/photos`)).body.result.name, "photos");
  assert.deepEqual(codes(await call("get", `${base}/absent`)), [404, 10006, "The specified bucket does not exist."]);
  assert.equal((await call("get", `${base}/european`, { headers: { "cf-r2-jurisdiction": "fedramp" } })).status, 404);
  assert.equal(
    (await call("get", `${base}/european`, { headers: { "cf-r2-jurisdiction": "eu" } })).body.result.jurisdiction,
    "eu",
  );
  assert.equal(
    (await call("patch", `${base}/photos`, { headers: { "cf-r2-storage-class": "Standard" } })).body.result
      .storage_class,
    "Standard",
  );
  assert.equal((await call("patch", `${base}/photos`, { headers: { "cf-r2-storage-class": "Cold" } })).status, 400);

  await r2.buckets.put((await r2.bucketList.get(TEST_ACCOUNT, "photos"))!.id, "key", Buffer.from("v"));
  assert.deepEqual(codes(await call("delete", `${base}/photos`)), [
    409,
    10008,
    `The bucket you tried to delete (photos) is not empty (account ${TEST_ACCOUNT}).`,
  ]);
  await call("delete", `${base}/photos/objects/key`);
  assert.equal((await call("delete", `${base}/photos`)).status, 200);
  assert.equal((await call("delete", `${base}/photos`)).status, 404);
});

test("an object is returned with its bytes and headers", async (t) => {
  const { call, raw, objects, r2, id, clock } = await startWithBucket(t);
  const bytes = randomBytes(1000);
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "content-language": "en",
    "content-disposition": 'attachment; filename="a.txt"',
    "content-encoding": "identity",
    "cache-control": "max-age=60",
    expires: "Fri, 01 Jan 2038 00:00:00 GMT",
    "x-amz-meta-owner": Buffer.from("Zoë").toString("latin1"),
    "cf-r2-storage-class": "InfrequentAccess",
    "cf-r2-data-catalog-check": "true",
  };
  const put = await call("put", `${objects}/dir/key.txt`, { body: bytes, headers });
  const etag = createHash("md5").update(bytes).digest("hex");
  const uploaded = new Date(clock.now());
  const { version, ...rest } = put.body.result;
  assert.match(version, /^[0-9a-f]{32}$/);
  assert.deepEqual(rest, {
    key: "dir/key.txt",
    etag,
    size: "1000",
    uploaded: uploaded.toISOString(),
    storage_class: "InfrequentAccess",
  });
  assert.equal((await r2.buckets.head(id, "dir/key.txt"))!.customMetadata.owner, "Zoë");

  const { "cf-r2-data-catalog-check": _, "x-amz-meta-owner": __, ...kept } = headers;
  for (const method of ["GET", "HEAD"]) {
    const got = await raw(method, `${objects}/dir/key.txt`);
    assert.equal(got.status, 200);
    for (const [name, value] of Object.entries({
      ...kept,
      etag: `"${etag}"`,
      "last-modified": uploaded.toUTCString(),
      "content-length": "1000",
      "accept-ranges": "bytes",
      "x-amz-meta-owner": "=?UTF-8?B?Wm/Dqw==?=",
    }))
      assert.equal(got.headers[name], value, `${method} ${name}`);
    assert.ok(got.bytes.equals(method === "GET" ? bytes : Buffer.alloc(0)));
  }

  const [listed] = (await call("get", objects)).body.result;
  assert.deepEqual(listed, {
    key: "dir/key.txt",
    etag,
    last_modified: uploaded.toISOString(),
    size: 1000,
    storage_class: "InfrequentAccess",
    ssec: false,
    custom_metadata: { owner: "Zoë" },
    http_metadata: {
      contentType: headers["content-type"],
      contentLanguage: "en",
      contentDisposition: headers["content-disposition"],
      contentEncoding: "identity",
      cacheControl: "max-age=60",
      cacheExpiry: "2038-01-01T00:00:00.000Z",
    },
  });
  await call("patch", `${base}/bucket`, { headers: { "cf-r2-storage-class": "InfrequentAccess" } });
  assert.equal(
    (await call("put", `${objects}/empty`, { body: new Uint8Array() })).body.result.storage_class,
    "InfrequentAccess",
  );
  const empty = await raw("GET", `${objects}/empty`);
  assert.deepEqual(
    [empty.status, empty.headers["content-length"], empty.headers["content-type"], empty.bytes.length],
    [200, "0", "application/octet-stream", 0],
  );
  await call("put", `${objects}/again`, { body: "v", headers: { "x-amz-meta-owner": "=?UTF-8?B?Wm/Dqw==?=" } });
  assert.equal((await r2.buckets.head(id, "again"))!.customMetadata.owner, "Zoë");
  // A worker may store anything; values that cannot be sent in a header are omitted.
  await r2.buckets.put(id, "odd", Buffer.from("v"), {
    customMetadata: { "not a name": "v", line: "a\nb", "🙂": "x" },
    httpMetadata: { contentType: "a\r\nb: c" },
  });
  assert.equal((await raw("GET", `${objects}/odd`)).text, "v");

  assert.deepEqual((await call("delete", `${objects}/dir/key.txt`)).body.result, { key: "dir/key.txt" });
  assert.equal((await call("delete", `${objects}/dir/key.txt`)).status, 200);
  assert.equal((await raw("HEAD", `${objects}/dir/key.txt`)).status, 404);
  assert.deepEqual(codes(await call("get", `${objects}/dir/key.txt`)), [
    404,
    10007,
    "The specified key does not exist.",
  ]);
});

test("ranges", async (t) => {
  const { raw, objects, clock } = await startWithBucket(t);
  await raw("PUT", `${objects}/digits`, { body: "0123456789" });
  const etag = `"${createHash("md5").update("0123456789").digest("hex")}"`;
  const get = async (range: string, more: Record<string, string> = {}) => {
    const { status, text, headers } = await raw("GET", `${objects}/digits`, { headers: { range, ...more } });
    return [status, text, headers["content-range"], headers["content-length"]];
  };
  assert.deepEqual(await get("bytes=2-4"), [206, "234", "bytes 2-4/10", "3"]);
  assert.deepEqual(await get("bytes=7-"), [206, "789", "bytes 7-9/10", "3"]);
  assert.deepEqual(await get("bytes=-2"), [206, "89", "bytes 8-9/10", "2"]);
  assert.deepEqual(await get("bytes=5-100"), [206, "56789", "bytes 5-9/10", "5"]);
  for (const whole of ["bytes=0-1,3-4", "lines=1-2", "bytes=4-2", "nonsense"])
    assert.deepEqual(await get(whole), [200, "0123456789", undefined, "10"], whole);
  const beyond = await raw("GET", `${objects}/digits`, { headers: { range: "bytes=10-" } });
  assert.deepEqual([beyond.status, JSON.parse(beyond.text).errors[0].code], [416, 10039]);
  assert.equal((await get("bytes=0-0", { "if-range": etag }))[0], 206);
  assert.equal((await get("bytes=0-0", { "if-range": '"other"' }))[0], 200);
  assert.equal((await get("bytes=0-0", { "if-range": new Date(clock.now()).toUTCString() }))[0], 206);
  assert.equal((await get("bytes=0-0", { "if-range": "W/" + etag }))[0], 200);
});

test("conditions", async (t) => {
  const { raw, objects, clock } = await startWithBucket(t);
  await raw("PUT", `${objects}/key`, { body: "one" });
  const etag = `"${createHash("md5").update("one").digest("hex")}"`;
  const date = (ms: number) => new Date(clock.now() + ms).toUTCString();
  const cases: [Record<string, string>, number][] = [
    [{ "if-none-match": etag }, 304],
    [{ "if-none-match": `W/${etag}` }, 304],
    [{ "if-none-match": "*" }, 304],
    [{ "if-none-match": '"other"' }, 200],
    [{ "if-none-match": `"a", ${etag}` }, 304],
    [{ "if-match": etag }, 200],
    [{ "if-match": '"other"' }, 412],
    [{ "if-match": "*" }, 200],
    [{ "if-match": `W/${etag}` }, 412],
    [{ "if-modified-since": date(0) }, 304],
    [{ "if-modified-since": date(-2000) }, 200],
    [{ "if-modified-since": "nonsense" }, 200],
    [{ "if-unmodified-since": date(0) }, 200],
    [{ "if-unmodified-since": date(-2000) }, 412],
    [{ "if-match": etag, "if-none-match": etag }, 304],
    [{ "if-match": '"other"', "if-none-match": etag }, 412],
    [{ "if-none-match": '"other"', "if-modified-since": date(0) }, 200],
  ];
  for (const method of ["GET", "HEAD"]) {
    for (const [headers, status] of cases) {
      const answer = await raw(method, `${objects}/key`, { headers });
      assert.equal(answer.status, status, `${method} ${JSON.stringify(headers)}`);
      if (status === 304) assert.deepEqual([answer.headers.etag, answer.text], [etag, ""]);
    }
  }
  assert.equal((await raw("PUT", `${objects}/key`, { body: "two", headers: { "if-none-match": "*" } })).status, 412);
  assert.equal((await raw("PUT", `${objects}/key`, { body: "two", headers: { "if-match": '"other"' } })).status, 412);
  assert.equal(
    (
      await raw("PUT", `${objects}/key`, {
        body: "two",
        headers: { "content-md5": createHash("md5").update("one").digest("base64") },
      })
    ).status,
    400,
  );
  assert.equal((await raw("GET", `${objects}/key`)).text, "one");
  assert.equal(
    (
      await raw("PUT", `${objects}/key`, {
        body: "two",
        headers: { "if-match": etag, "content-md5": createHash("md5").update("two").digest("base64") },
      })
    ).status,
    200,
  );
  assert.equal((await raw("PUT", `${objects}/new`, { body: "v", headers: { "if-none-match": "*" } })).status, 200);
});

test("lists objects by cursor and delimiter, and deletes them by key or prefix", async (t) => {
  const { call, objects, keys, r2, id, clock } = await startWithBucket(t);
  for (let index = 0; index < 25; index++)
    await r2.buckets.put(id, `a/${String(index).padStart(2, "0")}`, Buffer.from("v"));
  await r2.buckets.put(id, "b/c", Buffer.from("v"));
  await r2.buckets.put(id, "z", Buffer.from("v"));
  const first = (await call("get", objects, { query: { prefix: "a/" } })).body;
  assert.deepEqual([first.result.length, first.result_info.is_truncated, first.result_info.per_page], [20, true, 20]);
  const second = (await call("get", objects, { query: { prefix: "a/", cursor: first.result_info.cursor } })).body;
  assert.deepEqual([second.result.length, second.result_info], [5, { per_page: 20, is_truncated: false }]);
  const folded = (await call("get", objects, { query: { delimiter: "/" } })).body;
  assert.deepEqual(
    [folded.result.map(({ key }: { key: string }) => key), folded.result_info.delimited],
    [["z"], ["a/", "b/"]],
  );
  assert.deepEqual(
    (await call("get", objects, { query: { start_after: "a/24", per_page: 1000 } })).body.result.map(
      ({ key }: { key: string }) => key,
    ),
    ["b/c", "z"],
  );
  assert.deepEqual((await call("get", objects, { query: { prefix: "nothing" } })).body.result, []);
  assert.equal((await call("get", objects, { query: { per_page: 1001 } })).status, 400);

  assert.deepEqual((await call("delete", objects, { body: ["z", "absent"] })).body.result, [
    { key: "z" },
    { key: "absent" },
  ]);
  for (const body of [[], Array(1001).fill("x"), {}, [5]])
    assert.equal((await call("delete", objects, { body })).status, 400);
  assert.equal((await call("delete", objects)).status, 400);
  assert.equal((await call("delete", objects, { query: { prefix: "a" } })).status, 400);
  clock.advance(10);
  const job = (await call("delete", objects, { query: { prefix: "a/" } })).body.result;
  assert.deepEqual(
    [job.status, job.prefixDelete],
    ["COMPLETED", { prefix: "a/", deletedObjects: 25, isBucketClear: false }],
  );
  assert.deepEqual(await keys(), ["b/c"]);
  assert.equal((await call("delete", objects, { query: { prefix: "" } })).body.result.prefixDelete.isBucketClear, true);
  assert.deepEqual(await keys(), []);
});

test("accepts keys with slashes, raw or encoded", async (t) => {
  const { raw, objects, keys } = await startWithBucket(t);
  const paths: Record<string, string> = {
    "a/b.txt": "a/b.txt",
    "c%2Fd": "c/d",
    "a%252Fb": "a%2Fb",
    "a/../b": "a/../b",
    "a/%2e%2e/c": "a/../c",
    "..": "..",
    "%2e": ".",
    "%2Fabsolute": "/absolute",
    "//": "//",
    "dir/": "dir/",
    "a%0Ab": "a\nb",
    "a+b%20c": "a+b c",
    "100%.txt": "100%.txt",
    "%F0%9F%99%82/%C3%A9": "🙂/é",
    "%3F%23": "?#",
    "objects/objects": "objects/objects",
  };
  for (const [path, key] of Object.entries(paths)) {
    assert.equal((await raw("PUT", `${objects}/${path}`, { body: key })).status, 200, path);
    assert.equal((await raw("GET", `${objects}/${path}`)).text, key, path);
  }
  assert.deepEqual((await keys()).sort(), Object.values(paths).sort());
  for (const path of Object.keys(paths)) assert.equal((await raw("DELETE", `${objects}/${path}`)).status, 200);
  assert.deepEqual(await keys(), []);
  for (const path of ["%00", "k".repeat(1025)])
    assert.equal((await raw("PUT", `${objects}/${path}`, { body: "v" })).status, 400);
});

test("every written object is readable and listed", async (t) => {
  const { raw, objects, keys } = await startWithBucket(t);
  const part = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 20 }),
    fc.constantFrom("..", ".", "%2F", "%", "é", "?", "#", "&x=y", "\\", " ", "\n"),
  );
  const key = fc
    .array(part, { minLength: 1, maxLength: 5 })
    .map((parts) => parts.join("/"))
    .filter((name) => name !== "" && name.isWellFormed() && !name.includes("\0") && Buffer.byteLength(name) <= 1024);
  await fc.assert(
    fc.asyncProperty(key, fc.boolean(), fc.uint8Array({ maxLength: 20 }), async (name, slashes, value) => {
      const path = `${objects}/${slashes ? name.split("/").map(encodeURIComponent).join("/") : encodeURIComponent(name)}`;
      assert.equal((await raw("PUT", path, { body: value })).status, 200);
      assert.deepEqual(new Uint8Array((await raw("GET", path)).bytes), value);
      assert.ok((await keys()).includes(name));
      assert.equal((await raw("DELETE", path)).status, 200);
    }),
    { numRuns: 120 },
  );
});

test("streams a large upload in bounded memory", async (t) => {
  const { url, objects, raw } = await startWithBucket(t);
  const [chunk, chunks] = [randomBytes(MiB), 320];
  const hash = createHash("md5");
  let peak = 0;
  global.gc?.();
  const before = process.memoryUsage().arrayBuffers;
  const sent = request(`${url}${objects}/large`, {
    method: "PUT",
    headers: { authorization: `Bearer ${TEST_TOKEN}`, "content-length": String(chunk.length * chunks) },
  });
  const answered = once(sent, "response");
  for (let index = 0; index < chunks; index++) {
    hash.update(chunk);
    if (!sent.write(chunk)) await once(sent, "drain");
    peak = Math.max(peak, process.memoryUsage().arrayBuffers - before);
  }
  sent.end();
  const [response] = (await answered) as [NodeJS.ReadableStream & { statusCode: number; toArray(): Promise<Buffer[]> }];
  const { result } = JSON.parse(Buffer.concat(await response.toArray()).toString()) as {
    result: { etag: string; size: string };
  };
  assert.deepEqual([response.statusCode, result.size, result.etag], [200, String(chunks * MiB), hash.digest("hex")]);
  assert.ok(peak < 96 * MiB, `${Math.round(peak / MiB)} MiB were buffered`);
  const end = await raw("GET", `${objects}/large`, { headers: { range: "bytes=-10" } });
  assert.ok(end.bytes.equals(chunk.subarray(-10)));
});

test("an aborted upload leaves nothing behind; a rejected upload receives its response", async (t) => {
  const { url, call, objects, keys, r2 } = await startWithBucket(t);
  const sent = request(`${url}${objects}/broken`, {
    method: "PUT",
    headers: { authorization: `Bearer ${TEST_TOKEN}`, "content-length": String(4 * MiB) },
  });
  sent.on("error", () => {});
  sent.write(randomBytes(MiB), () => sent.destroy());
  await new Promise((resolve) => sent.once("close", resolve));
  const refused = await call("put", `${base}/absent/objects/key`, { body: randomBytes(30 * MiB) });
  assert.deepEqual(codes(refused).slice(0, 2), [404, 10006]);
  assert.equal((await call("put", `${objects}/${"k".repeat(1025)}`, { body: randomBytes(30 * MiB) })).status, 400);
  assert.equal(
    (await call("put", `${objects}/key`, { body: randomBytes(MiB), headers: { "cf-r2-storage-class": "Cold" } }))
      .status,
    400,
  );
  await r2.buckets.sweep();
  assert.deepEqual(await keys(), []);
});

test("an aborted download closes the object", { timeout: 60_000 }, async (t) => {
  const { url, objects, stored, call } = await startWithBucket(t);
  await call("put", `${objects}/large`, { body: randomBytes(20 * MiB) });
  const abort = new AbortController();
  const response = await fetch(`${url}${objects}/large`, {
    headers: { authorization: `Bearer ${TEST_TOKEN}` },
    signal: abort.signal,
  });
  await response.body!.getReader().read();
  await call("delete", `${objects}/large`);
  const left = async () => {
    for await (const { key } of stored.list("r2/")) return key;
    return undefined;
  };
  assert.notEqual(await left(), undefined, "an open reader keeps the object");
  abort.abort();
  while ((await left()) !== undefined) await new Promise(setImmediate);
});

test("reports a full disk and stores nothing", async (t) => {
  let full = false;
  const { call, objects, keys } = await startWithBucket(t, {
    wrap: (store) => ({
      ...store,
      put: async (key, ...rest) => {
        if (full) throw storeErrors.diskFull({ what: key });
        return store.put(key, ...rest);
      },
    }),
  });
  full = true;
  const refused = await call("put", `${objects}/key`, { body: randomBytes(5 * MiB) });
  assert.deepEqual([refused.status, refused.body.errors[0].error_chain[0].message], [507, "E_STORE_DISK_FULL"]);
  assert.deepEqual(await keys(), []);
});

test("does not acknowledge a write to a bucket that is being deleted", async (t) => {
  const { url, objects, r2 } = await startWithBucket(t);
  const sent = request(`${url}${objects}/late`, {
    method: "PUT",
    headers: { authorization: `Bearer ${TEST_TOKEN}`, "transfer-encoding": "chunked" },
  });
  const answered = once(sent, "response");
  await new Promise((resolve) => void sent.write(randomBytes(MiB), resolve));
  await r2.bucketList.delete(TEST_ACCOUNT, "bucket");
  sent.end("end");
  const [response] = (await answered) as [{ statusCode: number; resume(): void }];
  response.resume();
  assert.equal(response.statusCode, 404);
});
