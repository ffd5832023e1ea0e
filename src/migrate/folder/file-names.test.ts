import assert from "node:assert/strict";
import { join, normalize } from "node:path";
import { test } from "node:test";
import { assert as assertProperty, constantFrom, oneof, property, string } from "fast-check";
import { BESIDE_FOLDER, escapeKey, escapeName } from "./file-names.ts";

/** Reverses `escapeKey` as docs/migrate.md describes. */
function keyOf(path: string): string {
  const parts: string[] = [];
  let start = "";
  const withoutMark = path.endsWith(BESIDE_FOLDER) ? path.slice(0, -BESIDE_FOLDER.length) : path;
  for (const part of withoutMark.split("/")) {
    if (part.endsWith("%-")) start += part.slice(0, -2);
    else {
      parts.push(part === "%" ? "" : decodeURIComponent(start + part));
      start = "";
    }
  }
  return parts.join("/");
}

test("ordinary keys are used as paths unchanged", () => {
  for (const key of ["a.jpg", "2026/11/photo one.jpg", "größe/日本.txt", ".hidden", "a..b"])
    assert.equal(escapeKey(key), key);
});

test("keys that are unsafe as paths are escaped", () => {
  assert.deepEqual(
    ["../../etc/passwd", "/etc/passwd", "a//b", "a/", ".", "a\\..\\b", "50%", "nul\0", "x."].map(escapeKey),
    [".%2E/.%2E/etc/passwd", "%/etc/passwd", "a/%/b", "a/%", "%2E", "a%5C..%5Cb", "50%25", "nul%00", "x%2E"],
  );
  assert.equal(escapeName("a/b"), "a%2Fb");
  assert.equal(escapeName("x".repeat(450)), `${"x".repeat(200)}%-/${"x".repeat(200)}%-/${"x".repeat(50)}`);
});

test("every key has a path inside its folder, from which the key can be restored", () => {
  assertProperty(
    property(
      oneof(
        string({ unit: "grapheme" }),
        string({ unit: constantFrom("/", ".", "%", "a", "\\", " ", "é", "-", "_"), maxLength: 600 }),
      ),
      (key) => {
        const path = escapeKey(key);
        assert.equal(join("root", path), normalize(`root/${path}`));
        for (const part of path.split("/")) {
          assert.ok(part !== "" && part !== "." && part !== "..", path);
          assert.ok(Buffer.byteLength(part) <= 255, path);
        }
        assert.equal(keyOf(path), key);
        assert.equal(keyOf(path + BESIDE_FOLDER), key);
      },
    ),
  );
});
