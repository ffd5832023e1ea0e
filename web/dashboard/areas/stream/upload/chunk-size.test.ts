import assert from "node:assert/strict";
import { test } from "node:test";
import { firstChunkBytes, nextChunkBytes } from "./chunk-size.ts";

const MIB = 1024 * 1024;

test("a chunk takes about ten seconds to upload, and its size is a multiple of 256 KiB", () => {
  assert.equal(nextChunkBytes(8 * MIB, 8), 10 * MIB);
  assert.equal(nextChunkBytes(8 * MIB, 5), 16 * MIB);
  assert.equal(nextChunkBytes(8_000_000, 7) % (256 * 1024), 0);
});

test("a chunk is at least 5 and at most 50 MiB", () => {
  assert.equal(nextChunkBytes(5 * MIB, 600), 5 * MIB);
  assert.equal(nextChunkBytes(8 * MIB, 0.05), 50 * MIB);
});

test("a chunk without a duration does not change the size", () => {
  assert.equal(nextChunkBytes(0, 3), firstChunkBytes());
  assert.equal(nextChunkBytes(8 * MIB, 0), firstChunkBytes());
});

test("a chunk does not exceed the limit of the server", () => {
  assert.deepEqual([firstChunkBytes(6 * MIB), firstChunkBytes(100 * MIB)], [6 * MIB, 8 * MIB]);
  assert.equal(nextChunkBytes(8 * MIB, 0.05, 20 * MIB), 20 * MIB);
  assert.equal(nextChunkBytes(8 * MIB, 0.05, 100 * MIB), 50 * MIB);
  assert.equal(nextChunkBytes(2 * MIB, 600, 2 * MIB), 2 * MIB);
  assert.equal(nextChunkBytes(0, 0, 2 * MIB), 2 * MIB);
});
