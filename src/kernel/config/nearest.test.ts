import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { editDistance, nearestName, suggestion } from "./nearest.ts";

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
  assert.equal(nearestName("kv_namespace", known), "kv_namespaces");
  assert.equal(nearestName("sendEmail", known), "send_email");
  assert.equal(nearestName("compatability_date", known), "compatibility_date");
  assert.equal(nearestName("mian", known), "main");
  assert.equal(nearestName("NAME", known), "name");
  assert.equal(nearestName("compat", known), "compatibility_date");
  assert.equal(nearestName("queues", known), undefined);
  assert.equal(nearestName("x", []), undefined);
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
      const edits = editDistance(a, b);
      assert.equal(edits, editDistance(b, a));
      assert.equal(edits === 0, a === b);
      assert.ok(edits <= Math.max(a.length, b.length));
      assert.ok(edits >= Math.abs(a.length - b.length));
    }),
  );
});

test("one edit gives a distance of one", () => {
  fc.assert(
    fc.property(short, fc.nat(11), fc.constantFrom("insert", "delete", "swap"), (word, where, edit) => {
      const i = Math.min(where, Math.max(0, word.length - 2));
      const edited =
        edit === "insert"
          ? `${word.slice(0, i)}#${word.slice(i)}`
          : edit === "delete"
            ? word.slice(0, i) + word.slice(i + 1)
            : word.slice(0, i) + word.slice(i + 1, i + 2) + word.slice(i, i + 1) + word.slice(i + 2);
      assert.ok(editDistance(word, edited) <= 1 || /[\uD800-\uDFFF]/.test(word));
    }),
  );
});

test("allows a third of the letters to differ, and prefers the first of two equally close names", () => {
  assert.equal(nearestName("abcdef", ["abcdxy"]), "abcdxy");
  assert.equal(nearestName("abcdef", ["abcxyz"]), undefined);
  assert.equal(nearestName("name", ["fame", "game"]), "fame");
});
