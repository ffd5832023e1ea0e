import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import * as fc from "fast-check";
import { TEST_ACCOUNT } from "../../api.testing.ts";
import { storeErrors } from "../../../store/index.ts";
import { startStorageApi } from "../storage.testing.ts";

const base = `/accounts/${TEST_ACCOUNT}/storage/kv/namespaces`;
type Started = Awaited<ReturnType<typeof startStorageApi>>;

async function startWithNamespace(...args: Parameters<typeof startStorageApi>) {
  const started = await startStorageApi(...args);
  const { body } = await started.call("post", base, { body: { title: "test" } });
  const id = body.result.id as string;
  return { ...started, id, one: `${base}/${id}` };
}
const codes = (answer: { status: number; body: { errors: { code: number; message: string }[] } }) => [
  answer.status,
  answer.body.errors[0]!.code,
  answer.body.errors[0]!.message,
];

test("namespaces are created, listed until an empty page, renamed and deleted", async (t) => {
  const { call } = await startStorageApi(t);
  const made = await call("post", base, {
    body: JSON.stringify({ title: "b" }),
    headers: { "content-type": "text/plain;charset=UTF-8" },
  });
  assert.deepEqual([made.status, made.body.result.title, made.body.result.supports_url_encoding], [200, "b", true]);
  const { id } = made.body.result;
  assert.deepEqual(codes(await call("post", base, { body: { title: "b" } })), [
    400,
    10014,
    "a namespace with this account ID and title already exists",
  ]);
  assert.equal((await call("post", base, { body: { title: "" } })).status, 400);
  assert.equal((await call("post", base, { body: {} })).status, 400);
  await call("post", base, { body: { title: "a" } });
  const list = async (query: Record<string, string | number>) => (await call("get", base, { query })).body;
  assert.deepEqual(
    (await list({ per_page: 1000, order: "title", direction: "asc", page: 1 })).result.map(
      ({ title }: { title: string }) => title,
    ),
    ["a", "b"],
  );
  assert.deepEqual((await list({ per_page: 1, direction: "desc" })).result_info, {
    page: 1,
    per_page: 1,
    count: 1,
    total_count: 2,
    total_pages: 2,
  });
  assert.deepEqual((await list({ per_page: 1000, page: 2 })).result, []);
  assert.equal((await call("put", `${base}/${id}`, { body: { title: "c" } })).body.result.title, "c");
  assert.equal((await call("get", `${base}/${id}`)).body.result.title, "c");
  assert.equal((await call("delete", `${base}/${id}`)).status, 200);
  for (const method of ["get", "delete"])
    assert.deepEqual(codes(await call(method, `${base}/${id}`)), [404, 10013, "namespace not found"]);
  assert.deepEqual(codes(await call("get", `${base}/${id}/keys`)), [404, 10013, "list keys: 'namespace not found'"]);
  assert.deepEqual(codes(await call("get", `${base}/${id}/values/x`)), [404, 10013, "get: 'namespace not found'"]);
  assert.deepEqual(codes(await call("get", `${base}/not-one`)).slice(0, 2), [400, 10011]);
});

test("a value is raw bytes or a form with metadata, and workers can read values written through the API", async (t) => {
  const { call, one, id, kv, clock } = await startWithNamespace(t);
  const value = `${one}/values/key`;
  const bytes = randomBytes(300);
  assert.deepEqual((await call("put", value, { body: bytes, query: { expiration_ttl: 120 } })).body.result, null);
  const read = await call("get", value);
  assert.ok(read.bytes.equals(bytes));
  const expiration = Math.floor(clock.now() / 1000) + 120;
  assert.deepEqual(
    [read.headers.get("expiration"), read.headers.get("content-type"), read.headers.get("content-length")],
    [String(expiration), "application/octet-stream", "300"],
  );
  assert.ok(Buffer.from((await kv.store.get(id, "key"))!.value as Uint8Array).equals(bytes));

  const form = (metadata: Record<string, string | Blob>) => {
    const data = new FormData();
    data.set("value", new Blob([bytes]));
    for (const [name, part] of Object.entries(metadata)) data.append(name, part);
    return data;
  };
  assert.equal(
    (await call("put", value, { body: form({ metadata: '{"a":[1]}' }), query: { expiration } })).status,
    200,
  );
  assert.deepEqual((await call("get", `${one}/metadata/key`)).body.result, { a: [1] });
  assert.equal((await kv.store.get(id, "key"))!.metadata, '{"a":[1]}');
  await call("put", value, { body: form({ metadata: new Blob(['{"b":2}'], { type: "application/json" }) }) });
  assert.deepEqual((await call("get", `${one}/metadata/key`)).body.result, { b: 2 });
  await call("put", value, { body: form({ "metadata[a]": "1", "metadata[b][c]": "2", "metadata[d][]": "3" }) });
  assert.deepEqual((await call("get", `${one}/metadata/key`)).body.result, { a: "1", b: { c: "2" }, d: ["3"] });
  assert.equal((await call("put", value, { body: form({ metadata: "{" }) })).status, 400);
  assert.ok((await call("get", value)).bytes.equals(bytes));

  await call("put", value, { body: "text" });
  assert.deepEqual(
    [(await call("get", value)).text, (await call("get", `${one}/metadata/key`)).body.result],
    ["text", null],
  );
  const head = await call("head", value);
  assert.deepEqual([head.status, head.headers.get("content-length"), head.bytes.length], [200, "4", 0]);
  await kv.store.put(id, "from a worker", Buffer.from("x"));
  assert.equal((await call("get", `${one}/values/from%20a%20worker`)).text, "x");

  assert.equal((await call("delete", value)).status, 200);
  assert.equal((await call("delete", value)).status, 200);
  for (const part of ["values", "metadata"])
    assert.deepEqual(codes(await call("get", `${one}/${part}/key`)), [404, 10009, "get: 'key not found'"]);
});

test("rejects early expirations, large values, long keys and long metadata without storing anything", async (t) => {
  const { call, one, kv, id, clock } = await startWithNamespace(t);
  const value = `${one}/values/key`;
  const now = Math.floor(clock.now() / 1000);
  const put = (query: Record<string, string | number>) => call("put", value, { body: "v", query });
  assert.deepEqual(codes(await put({ expiration_ttl: 59 })), [
    400,
    10001,
    "Invalid expiration_ttl of 59. Expiration TTL must be at least 60.",
  ]);
  assert.deepEqual((await put({ expiration_ttl: "soon" })).status, 400);
  assert.deepEqual(
    codes(await put({ expiration: now + 10 }))[2],
    `Invalid expiration of ${now + 10}. Expiration times must be at least 60 seconds in the future.`,
  );
  assert.equal((await call("put", value, { body: Buffer.alloc(25 * 1024 * 1024 + 1) })).status, 413);
  assert.equal(
    (
      await call("put", value, {
        body: new ReadableStream(
          { pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)) },
          { highWaterMark: 1 },
        ).pipeThrough(limited(26)),
      })
    ).status,
    413,
  );
  assert.equal((await call("put", `${one}/values/${"k".repeat(513)}`, { body: "v" })).status, 414);
  const data = new FormData();
  data.set("value", "v");
  data.set("metadata", JSON.stringify("m".repeat(1024)));
  assert.equal((await call("put", value, { body: data })).status, 413);
  // Metadata in parts: a name of a megabyte is rejected before the object is built.
  const nested = new FormData();
  nested.set("value", "v");
  nested.set(`metadata${"[a]".repeat(400_000)}`, "1");
  assert.equal((await call("put", value, { body: nested })).status, 413);
  const empty = new FormData();
  empty.set("metadata", "1");
  assert.equal((await call("put", value, { body: empty })).status, 400);
  assert.equal(
    (await call("put", value, { body: "broken", headers: { "content-type": "multipart/form-data; boundary=x" } }))
      .status,
    400,
  );
  assert.deepEqual((await kv.store.list(id)).keys, []);
});

/** Passes on this many chunks, then ends. */
function limited(chunks: number) {
  let seen = 0;
  return new TransformStream({
    transform: (chunk, controller) => (++seen <= chunks ? controller.enqueue(chunk) : controller.terminate()),
  });
}

test("streams a large value in both directions", async (t) => {
  const { call, one } = await startWithNamespace(t);
  const bytes = randomBytes(5 * 1024 * 1024);
  await call("put", `${one}/values/large`, { body: bytes });
  assert.ok((await call("get", `${one}/values/large`)).bytes.equals(bytes));
  await call("put", `${one}/values/chunked`, {
    body: new Blob([bytes.subarray(0, 100_000)]).stream() as ReadableStream,
  });
  assert.ok((await call("get", `${one}/values/chunked`)).bytes.equals(bytes.subarray(0, 100_000)));
});

test("accepts any key, regardless of its characters", async (t) => {
  const { raw, one, kv, id } = await startWithNamespace(t);
  const paths: Record<string, string> = {
    "a%2Fb": "a/b",
    "c/d": "c/d",
    "a%252Fb": "a%2Fb",
    "%2e%2e%2fup": "../up",
    "a%2F..%2Fb": "a/../b",
    "a/../c": "a/../c",
    "a/%2e/d": "a/./d",
    "a%0Ab": "a\nb",
    "a+b": "a+b",
    "a%20b": "a b",
    "%3F%23": "?#",
    "a:b!'()*": "a:b!'()*",
    "%F0%9F%99%82": "🙂",
    "bulk%2Fget": "bulk/get",
    "slash/": "slash/",
    "//": "//",
    "%00": "\0",
    "...": "...",
    "%5C..%5C": "\\..\\",
  };
  for (const [path, key] of Object.entries(paths)) {
    assert.equal((await raw("PUT", `${one}/values/${path}`, { body: key })).status, 200, path);
    assert.equal((await raw("GET", `${one}/values/${path}`)).text, key, path);
    assert.ok(await kv.store.get(id, key), path);
  }
  assert.equal((await kv.store.list(id)).keys.length, Object.keys(paths).length);
  for (const path of Object.keys(paths)) assert.equal((await raw("DELETE", `${one}/values/${path}`)).status, 200);
  assert.equal((await kv.store.list(id)).keys.length, 0);
  for (const path of [".", "..", "%2e", "%2E%2e", "%ff", "%zz", "a%"])
    assert.equal((await raw("PUT", `${one}/values/${path}`, { body: "v" })).status, 400, path);
  assert.equal((await raw("DELETE", `${one}/values/x/../..`)).status, 200, "this is a key, not the namespace");
  assert.equal((await raw("GET", one)).status, 200);
});

test("every written key is readable and listed", async (t) => {
  const { raw, one, id, kv } = await startWithNamespace(t);
  const text = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 40 }),
    fc.string({ unit: "binary-ascii", maxLength: 40 }),
    fc
      .array(fc.constantFrom("/", ".", "..", "%", "%2F", "a", "é", "?", "#", "&", "\\", " ", "\n", "+"), {
        maxLength: 8,
      })
      .map((parts) => parts.join("")),
  );
  const key = text.filter(
    (name) => name !== "" && name !== "." && name !== ".." && name.isWellFormed() && Buffer.byteLength(name) <= 512,
  );
  await fc.assert(
    fc.asyncProperty(key, fc.uint8Array({ maxLength: 20 }), async (name, value) => {
      const path = `${one}/values/${encodeURIComponent(name)}`;
      assert.equal((await raw("PUT", path, { body: value })).status, 200);
      assert.deepEqual(new Uint8Array((await raw("GET", path)).bytes), value);
      const listed = JSON.parse((await raw("GET", `${one}/keys?prefix=${encodeURIComponent(name)}`)).text) as {
        result: { name: string }[];
      };
      assert.ok(listed.result.some((one) => one.name === name));
      assert.equal((await kv.store.get(id, name))!.size, value.length);
    }),
    { numRuns: 150 },
  );
});

test("lists keys by cursor to the end, with their metadata", async (t) => {
  const { call, one, kv, id, clock } = await startWithNamespace(t);
  const expiresAt = Math.floor(clock.now() / 1000) * 1000 + 60_000;
  for (let index = 10; index < 35; index++)
    await kv.store.put(id, `p/${index}`, Buffer.from("v"), index === 10 ? { metadata: '{"n":1}', expiresAt } : {});
  await kv.store.put(id, "q", Buffer.from("v"));
  const names: string[] = [];
  let cursor = "";
  do {
    const { body } = await call("get", `${one}/keys`, { query: { limit: 10, prefix: "p/", cursor } });
    if (cursor === "")
      assert.deepEqual(body.result[0], { name: "p/10", expiration: expiresAt / 1000, metadata: { n: 1 } });
    assert.equal(body.result_info.count, body.result.length);
    names.push(...body.result.map(({ name }: { name: string }) => name));
    cursor = body.result_info.cursor;
  } while (cursor !== "");
  assert.deepEqual(
    names,
    Array.from({ length: 25 }, (_, index) => `p/${index + 10}`),
  );
  assert.equal((await call("get", `${one}/keys`)).body.result.length, 26);
  for (const [name, value] of [
    ["limit", "9"],
    ["limit", "1001"],
    ["cursor", "nonsense!"],
  ] as const)
    assert.equal((await call("get", `${one}/keys`, { query: { [name]: value } })).status, 400);
});

test("writes, reads and deletes many pairs in one request", async (t) => {
  const { call, one, id, kv, clock } = await startWithNamespace(t);
  const now = Math.floor(clock.now() / 1000);
  const pairs = [
    { key: "text", value: "é" },
    { key: "bytes", value: Buffer.from([0, 255, 7]).toString("base64"), base64: true },
    { key: "json", value: '{"a":1}', metadata: { m: [1] }, expiration_ttl: 60, expiration: now + 5000 },
    { key: "large", value: "x".repeat(200_000), expiration: now + 60 },
    { key: "twice", value: "first" },
    { key: "twice", value: "last" },
  ];
  assert.deepEqual((await call("put", `${one}/bulk`, { body: pairs })).body.result, {
    successful_key_count: 6,
    unsuccessful_keys: [],
  });
  assert.deepEqual([...((await kv.store.get(id, "bytes"))!.value as Uint8Array)], [0, 255, 7]);
  assert.equal((await kv.store.get(id, "json"))!.expiration, now + 60);
  const get = async (body: object) => (await call("post", `${one}/bulk/get`, { body })).body.result?.values;
  assert.deepEqual(await get({ keys: ["text", "twice", "absent"] }), { text: "é", twice: "last" });
  assert.deepEqual(await get({ keys: ["json"], type: "json" }), { json: { a: 1 } });
  assert.deepEqual(await get({ keys: ["json", "absent"], withMetadata: true }), {
    json: { value: '{"a":1}', metadata: { m: [1] }, expiration: now + 60 },
    absent: null,
  });
  assert.equal((await call("post", `${one}/bulk/get`, { body: { keys: ["text"], type: "json" } })).status, 400);
  assert.equal((await call("post", `${one}/bulk/get`, { body: { keys: Array(101).fill("x") } })).status, 400);

  const refused = await call("put", `${one}/bulk`, {
    body: [
      { key: "fine", value: "v" },
      { key: "bad", value: "v", expiration_ttl: 5 },
    ],
  });
  assert.deepEqual(codes(refused).slice(0, 2), [400, 10001]);
  assert.match(refused.body.errors[0].message, /Pair 1 \("bad"\).*at least 60/);
  for (const pair of [
    { key: "", value: "v" },
    { key: "x", value: "not base64!", base64: true },
    { key: "k".repeat(513), value: "v" },
    { key: "x", value: 5 },
    { key: "x" },
  ])
    assert.equal((await call("put", `${one}/bulk`, { body: [pair] })).status, 400);
  assert.equal(await kv.store.get(id, "fine"), undefined);

  assert.deepEqual((await call("post", `${one}/bulk/delete`, { body: ["text", "absent"] })).body.result, {
    successful_key_count: 2,
    unsuccessful_keys: [],
  });
  assert.equal((await call("delete", `${one}/bulk`, { body: ["bytes", "json", "large"] })).status, 200);
  assert.deepEqual(
    (await kv.store.list(id)).keys.map(({ name }) => name),
    ["twice"],
  );
});

test("accepts ten thousand pairs per request and rejects one more", async (t) => {
  const { call, one, kv, id } = await startWithNamespace(t);
  const pairs = Array.from({ length: 10_000 }, (_, index) => ({
    key: `key ${String(index).padStart(5, "0")}`,
    value: `${index}`,
  }));
  assert.equal((await call("put", `${one}/bulk`, { body: pairs })).body.result.successful_key_count, 10_000);
  assert.equal((await call("put", `${one}/bulk`, { body: [...pairs, { key: "x", value: "x" }] })).status, 400);
  assert.equal((await call("get", `${one}/values/key%2009999`)).text, "9999");
  assert.equal(
    (await call("post", `${one}/bulk/delete`, { body: pairs.map(({ key }) => key) })).body.result.successful_key_count,
    10_000,
  );
  assert.deepEqual((await kv.store.list(id)).keys, []);
});

test("reports a full disk and stores nothing", async (t) => {
  let full = false;
  const { call, one, kv, id }: Started & { one: string; id: string } = await startWithNamespace(t, {
    wrap: (objects) => ({
      ...objects,
      put: async (key, ...rest) => {
        if (full) throw storeErrors.diskFull({ what: key });
        return objects.put(key, ...rest);
      },
    }),
  });
  full = true;
  const large = "x".repeat(100_000);
  const refused = await call("put", `${one}/values/key`, { body: large });
  assert.deepEqual([refused.status, refused.body.errors[0].error_chain[0].message], [507, "E_STORE_DISK_FULL"]);
  assert.equal((await call("put", `${one}/bulk`, { body: [{ key: "one", value: large }] })).status, 507);
  assert.deepEqual(
    (
      await call("put", `${one}/bulk`, {
        body: [
          { key: "small", value: "v" },
          { key: "big", value: large },
        ],
      })
    ).body.result,
    { successful_key_count: 1, unsuccessful_keys: ["big"] },
  );
  assert.deepEqual(
    (await kv.store.list(id)).keys.map(({ name }) => name),
    ["small"],
  );
});
