import assert from "node:assert/strict";
import { test } from "node:test";
import { checkBucket, checkObjectName, checkObjectMetadata, defaultLimits } from "./limits.ts";

const key = (value: string) => () => checkObjectName(value, defaultLimits);
const custom = (customMetadata: Record<string, string>) => () =>
  checkObjectMetadata({ customMetadata }, { ...defaultLimits, customMetadataBytes: 2048 });

test("limits keys to 1024 bytes of UTF-8", () => {
  for (const fine of ["", "x".repeat(1024), "é".repeat(512), "🙂".repeat(256), "a/../b", "\n"]) key(fine)();
  for (const bad of ["x".repeat(1025), "é".repeat(513), "a\0b", "\ud800"])
    assert.throws(key(bad), { code: 10020, message: "The specified object name is not valid." });
});

test("limits custom metadata, counted in bytes as the service does", () => {
  custom({ key: "x".repeat(2045) })();
  custom({ ["é".repeat(1024)]: "é".repeat(1024) })();
  custom({ key1: "🙂".repeat(511) })();
  for (const bad of [{ key: "x".repeat(2046) }, { key12: "🙂".repeat(511) }, { key: "🙂".repeat(512) }] as Record<
    string,
    string
  >[])
    assert.throws(custom(bad), {
      code: 10012,
      message: "Your metadata headers exceed the maximum allowed metadata size.",
    });
});

test("limits HTTP metadata and storage classes", () => {
  assert.throws(() => checkObjectMetadata({ httpMetadata: { contentType: "x".repeat(9000) } }, defaultLimits), {
    code: 10012,
  });
  assert.throws(() => checkObjectMetadata({ storageClass: "Cold" as "Standard" }, defaultLimits), { code: 10029 });
});

test("bucket names are safe in paths", () => {
  for (const fine of ["abc", "a-b", "0".repeat(63)]) checkBucket(fine);
  for (const bad of ["ab", "-ab", "ab-", "A-b", "a_b", "a.b", "../x", "a/b", "", "0".repeat(64)])
    assert.throws(() => checkBucket(bad), { code: 10005 });
});
