import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openR2Worker } from "./r2-workerd.testing.ts";

// Each entry is one sequence of calls to the bucket; its return value is sent back as JSON.
const conversations = `
  async lists(bucket) {
    for (const key of ["b", "a/1", "a/2", "B", "é", "c", "🙂"]) await bucket.put(key, key, { httpMetadata: { contentType: "t/" + encodeURI(key) }, customMetadata: { key } });
    const keys = ({ objects, truncated, delimitedPrefixes }) => [objects.map(({ key }) => key), truncated, delimitedPrefixes];
    const first = await bucket.list({ limit: 3 });
    const second = await bucket.list({ cursor: first.cursor });
    const one = async (include) => { const { objects: [object] } = await bucket.list({ prefix: "c", include }); return [object.httpMetadata, object.customMetadata]; };
    return { all: keys(await bucket.list()), pages: [keys(first), keys(second), "cursor" in second && second.cursor !== undefined], folded: keys(await bucket.list({ delimiter: "/" })), prefix: keys(await bucket.list({ prefix: "a/" })),
      startAfter: keys(await bucket.list({ startAfter: "a/1", limit: 2 })), plain: await one(undefined), none: await one([]), http: await one(["httpMetadata"]), both: await one(["httpMetadata", "customMetadata"]),
      shown: show((await bucket.list({ prefix: "b" })).objects[0]), failures: [await failure(bucket.list({ limit: 0 })), await failure(bucket.list({ limit: 1001 })), await failure(bucket.list({ cursor: "bad" }))] };
  },
  async longList(bucket) {
    // Objects whose metadata as JSON is several times larger than what workerd reads from one response.
    const long = "\\u0001".repeat(2040);
    await Promise.all(Array.from({ length: 120 }, (_, i) => bucket.put("x".repeat(1000) + i, "", { customMetadata: { long } })));
    let options = { include: ["customMetadata"] }, pages = 0, seen = 0, page;
    do {
      page = await bucket.list(options);
      pages++;
      seen += page.objects.length;
      options = { ...options, cursor: page.cursor };
    } while (page.truncated);
    return { pages, seen };
  },
`;

describe("R2 through workerd", () => {
  const { converse } = openR2Worker(conversations, ["five", "six"]);

  test("list returns pages, prefixes, delimiters and metadata", async () => {
    const { shown, ...rest } = await converse("lists", "five");
    assert.deepEqual(rest, {
      all: [["B", "a/1", "a/2", "b", "c", "é", "🙂"], false, []],
      pages: [[["B", "a/1", "a/2"], true, []], [["b", "c", "é", "🙂"], false, []], false],
      folded: [["B", "b", "c", "é", "🙂"], false, ["a/"]],
      prefix: [["a/1", "a/2"], false, []],
      startAfter: [["a/2", "b"], true, []],
      plain: [null, null],
      none: [null, null],
      http: [{ contentType: "t/c" }, null],
      both: [{ contentType: "t/c" }, { key: "c" }],
      failures: [
        "Error: list: MaxKeys params must be positive integer <= 1000. (10022)",
        "Error: list: MaxKeys params must be positive integer <= 1000. (10022)",
        "Error: list: The cursor is invalid. (10029)",
      ],
    });
    assert.deepEqual(
      [shown.key, shown.size, shown.type, shown.storageClass, shown.range],
      ["b", 1, "HeadResult", "Standard", undefined],
    );
  });

  test("splits a list that is too large for one response into several pages", async () => {
    const { pages, seen } = await converse("longList", "six");
    assert.equal(seen, 120);
    assert.ok(pages > 1, `${pages} pages`);
  });
});
