import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { startWithBucket } from "./r2.testing.ts";

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
