import assert from "node:assert/strict";
import { test } from "node:test";
import { compareItem, digestOfItem, withProgressRecord } from "./context.ts";
import type { ItemProgress, MigrationOptions, MigrationState, StoredItem } from "./port.ts";

function stateWith(items: Record<string, StoredItem>): MigrationState {
  const stored = new Map(Object.entries(items));
  return {
    path: "",
    get: (key) => stored.get(key),
    idOf: (key) => stored.get(key)?.id,
    put: (changes) => changes.forEach(([key, item]) => void stored.set(key, item)),
  };
}

const contextOf = (items: Record<string, StoredItem>, overwrite = false) => ({
  state: stateWith(items),
  options: { overwrite } as MigrationOptions,
});

test("an item is compared by its content, and then by the digest recorded at its import", () => {
  const [one, other] = [
    { name: "a", ttl: 1 },
    { name: "a", ttl: 2 },
  ];
  const act = (target: unknown, items: Record<string, StoredItem>, overwrite?: boolean) =>
    compareItem(contextOf(items, overwrite), "key", { source: one, target }).action;
  assert.equal(act(undefined, {}), "new");
  assert.equal(act({ ttl: 1, name: "a" }, {}), "unchanged");
  assert.equal(act(other, {}), "kept");
  assert.equal(act(other, {}, true), "changed");
  assert.equal(act(other, { key: { digest: digestOfItem(one) } }), "unchanged");
  assert.equal(act(other, { key: { digest: digestOfItem(other) } }), "changed");
  assert.equal(act(other, { key: {} }), "changed", "an interrupted import is continued");
});

test("an item is recorded as finished only after its import succeeded", async () => {
  const context = contextOf({});
  const progress = {} as ItemProgress;
  const failing = withProgressRecord(context, "key", "x", async () => {
    throw new Error("refused");
  });
  await assert.rejects(failing(progress), /refused/);
  assert.deepEqual(context.state.get("key"), {});
  await withProgressRecord(context, "key", "x", async () => {})(progress);
  assert.deepEqual(context.state.get("key"), { digest: "x" });
});
