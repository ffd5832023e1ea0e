import assert from "node:assert/strict";
import { test } from "node:test";
import { publishEntries } from "./publish-entries.ts";

const A = "a".repeat(32);
const Z = "b".repeat(32);
const entry = (id: string, isQueued = false) => ({ id, account: A, zone: Z, isQueued });

function published(entries: Parameters<ReturnType<typeof publishEntries>>[0]): string[] {
  const changes: string[] = [];
  publishEntries({ publish: (_topic, change) => void changes.push(change) })(entries);
  return changes;
}

test("publishes each entry, and the queue if a delivery is in it", () => {
  assert.deepEqual(published([entry("1"), entry("2", true)]), [
    `mail:${A}:${Z}:1`,
    `mail:${A}:${Z}:2`,
    `queue:${A}:${Z}:`,
  ]);
});

test("publishes many entries of a zone as one change", () => {
  assert.deepEqual(published(Array.from({ length: 11 }, (_, n) => entry(String(n)))), [`mail:${A}:${Z}:`]);
});

test("publishes nothing about mail without an account", () => {
  assert.deepEqual(published([{ id: "1", account: "", zone: "", isQueued: true }]), []);
});
