import assert from "node:assert/strict";
import { it } from "node:test";
import * as fc from "fast-check";
import { queryOf } from "./query.ts";

it("reads only the known parameters", () => {
  assert.deepEqual(queryOf("from=a%40b.example&to=c@d.example&x=1&format=json"), {
    from: "a@b.example",
    to: "c@d.example",
    format: "json",
  });
  assert.deepEqual(queryOf("from=&to"), { from: "" });
  assert.deepEqual(queryOf(""), {});
  assert.deepEqual(queryOf("to=first@x&to=second@x&__proto__=a"), { to: "first@x" });
});

it("keeps a plus sign, encoded or not", () => {
  assert.equal(queryOf("to=user+tag@example.com").to, "user+tag@example.com");
  assert.equal(queryOf("to=user%2Btag%40example.com").to, "user+tag@example.com");
});

it("accepts any query without throwing, and decodes encoded values", () => {
  fc.assert(fc.property(fc.string(), (query) => void queryOf(query)));
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1 }), fc.string({ unit: "grapheme" }), (from, to) => {
      assert.deepEqual(queryOf(`from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`), { from, to });
    }),
  );
});
