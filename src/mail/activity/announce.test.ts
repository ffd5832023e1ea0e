import assert from "node:assert/strict";
import { test } from "node:test";
import { announceEntries } from "./announce.ts";

const A = "a".repeat(32);
const Z = "b".repeat(32);
const entry = (id: string, isQueued = false) => ({ id, account: A, zone: Z, isQueued });

function announced(entries: Parameters<ReturnType<typeof announceEntries>>[0]): string[] {
  const changes: string[] = [];
  announceEntries({ publish: (_topic, change) => void changes.push(change) })(entries);
  return changes;
}

test("announces each entry, and the queue if a delivery is in it", () => {
  assert.deepEqual(announced([entry("1"), entry("2", true)]), [
    `mail:${A}:${Z}:1`,
    `mail:${A}:${Z}:2`,
    `queue:${A}:${Z}:`,
  ]);
});

test("announces many entries of a zone as one change", () => {
  assert.deepEqual(announced(Array.from({ length: 11 }, (_, n) => entry(String(n)))), [`mail:${A}:${Z}:`]);
});

test("announces nothing about mail without an account", () => {
  assert.deepEqual(announced([{ id: "1", account: "", zone: "", isQueued: true }]), []);
});
