import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { distance, nearest, suggestion } from "./nearest.ts";

test("finds the intended name", () => {
  const known = [
    "send_email",
    "kv_namespaces",
    "r2_buckets",
    "d1_databases",
    "compatibility_date",
    "compatibility_flags",
    "main",
    "name",
    "vars",
  ];
  assert.equal(nearest("kv_namespace", known), "kv_namespaces");
  assert.equal(nearest("sendEmail", known), "send_email");
  assert.equal(nearest("compatability_date", known), "compatibility_date");
  assert.equal(nearest("mian", known), "main");
  assert.equal(nearest("NAME", known), "name");
  assert.equal(nearest("compat", known), "compatibility_date");
  assert.equal(nearest("queues", known), undefined);
  assert.equal(nearest("x", []), undefined);
});

test("suggests the nearest name, or lists a few", () => {
  assert.equal(suggestion("dve", ["dev", "init"]), 'did you mean "dev"?');
  assert.equal(suggestion("quark", ["dev", "init"]), "known: dev, init");
  assert.equal(suggestion("quark", "abcdefghi".split("")), undefined);
});

const short = fc.string({ maxLength: 12 });

test("distance is a metric: zero only for equal names, symmetric, at most the longer length", () => {
  fc.assert(
    fc.property(short, short, (a, b) => {
      const edits = distance(a, b);
      assert.equal(edits, distance(b, a));
      assert.equal(edits === 0, a === b);
      assert.ok(edits <= Math.max(a.length, b.length));
      assert.ok(edits >= Math.abs(a.length - b.length));
    }),
  );
});

test("one edit has distance one", () => {
  fc.assert(
    fc.property(short, fc.nat(11), fc.constantFrom("insert", "delete", "swap"), (word, where, edit) => {
      const i = Math.min(where, Math.max(0, word.length - 2));
      const edited =
        edit === "insert"
          ? `${word.slice(0, i)}#${word.slice(i)}`
          : edit === "delete"
            ? word.slice(0, i) + word.slice(i + 1)
            : word.slice(0, i) + word.slice(i + 1, i + 2) + word.slice(i, i + 1) + word.slice(i + 2);
      assert.ok(distance(word, edited) <= 1 || /[\uD800-\uDFFF]/.test(word));
    }),
  );
});

test("allows a third of the letters to differ, and prefers the first of two equally close names", () => {
  assert.equal(nearest("abcdef", ["abcdxy"]), "abcdxy");
  assert.equal(nearest("abcdef", ["abcxyz"]), undefined);
  assert.equal(nearest("name", ["fame", "game"]), "fame");
});
