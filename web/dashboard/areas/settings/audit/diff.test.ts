import assert from "node:assert/strict";
import { test } from "node:test";
import { comparableJson, diffLines } from "./diff.ts";

const show = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => `${{ same: " ", removed: "-", added: "+" }[kind]}${text}`);

test("a changed line is removed and added between the unchanged lines", () => {
  assert.deepEqual(show("a\nb\nc", "a\nB\nc"), [" a", "-b", "+B", " c"]);
  assert.deepEqual(show("a\nb", "b\nc"), ["-a", " b", "+c"]);
});

test("an empty old value results only in additions, and an empty new value only in removals", () => {
  assert.deepEqual(show("", "a\nb"), ["+a", "+b"]);
  assert.deepEqual(show("a", ""), ["-a"]);
  assert.deepEqual(show("", ""), []);
});

test("long texts are shown one after the other", () => {
  const long = Array.from({ length: 1100 }, (_, line) => String(line)).join("\n");
  assert.equal(diffLines(long, long).length, 2200);
});

test("the order of keys makes no difference", () => {
  assert.equal(comparableJson({ b: [{ d: 1, c: null }], a: 2 }), comparableJson({ a: 2, b: [{ c: null, d: 1 }] }));
  assert.equal(comparableJson(undefined), "");
});
