import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { base, codes, startWithBucket } from "./r2.testing.ts";

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

test("serves byte ranges", async (t) => {
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

test("evaluates request conditions", async (t) => {
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
