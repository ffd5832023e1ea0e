import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlannedItem, RunProgress } from "./port.ts";
import { applyItems } from "./run.ts";

const followUp = { secrets: [], credentials: [], dns: [] };
const itemOf = (name: string, fields: Partial<PlannedItem>): PlannedItem => ({
  kind: "zone",
  key: name,
  name,
  action: "new",
  ...fields,
});

test("a failed item does not stop the others, and items that need no work are skipped", async () => {
  const items = [
    itemOf("first", { apply: async () => {} }),
    itemOf("second", {
      apply: async () => {
        throw new Error("refused");
      },
    }),
    itemOf("unchanged", { action: "unchanged" }),
    itemOf("keys", {
      kind: "KV namespace",
      apply: async ({ entries, warn }) => {
        entries(30);
        warn("one key is too long");
      },
    }),
  ];
  const clock = { now: () => 0, sleep: async () => {} };
  const { imported, failed, warnings } = await applyItems(items, { clock }, followUp, () => {});
  assert.deepEqual(imported, { zone: 1, "KV namespace": 1, "KV key": 30 });
  assert.deepEqual(failed, [{ kind: "zone", name: "second", reason: "refused" }]);
  assert.deepEqual(warnings, [{ kind: "KV namespace", name: "keys", text: "one key is too long" }]);
});

test("the remaining time is estimated from the amount of copied data", async () => {
  let now = 0;
  const seen: RunProgress[] = [];
  const video = (name: string) =>
    itemOf(name, {
      bytes: 199 * 200_000,
      apply: async ({ bytes }) => {
        for (let part = 0; part < 199; part++) {
          now += 100;
          bytes(200_000);
        }
      },
    });
  const clock = { now: () => now, sleep: async () => {} };
  await applyItems([video("one"), video("two")], { clock }, followUp, (progress) => seen.push(progress));
  assert.equal(seen[0]!.secondsLeft, undefined);
  const half = seen.find(({ done }) => done === 1)!;
  assert.deepEqual([half.total, half.secondsLeft], [2, 20]);
  assert.ok(seen.at(-1)!.secondsLeft! <= 1);
});

test("aborting the signal stops the import", async () => {
  const controller = new AbortController();
  const items = [
    itemOf("first", { apply: async () => controller.abort() }),
    itemOf("second", { apply: async () => assert.fail("it must not start") }),
  ];
  const clock = { now: () => 0, sleep: async () => {} };
  await assert.rejects(
    applyItems(items, { clock, signal: controller.signal }, followUp, () => {}),
    { name: "AbortError" },
  );
});
