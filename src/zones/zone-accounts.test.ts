import assert from "node:assert/strict";
import { test } from "node:test";
import type { Events } from "../store/index.ts";
import { createZoneAccounts } from "./zone-accounts.ts";

function setUp(max?: number) {
  let hint: (id: string) => void = () => {};
  const events: Events = {
    publish: () => {},
    close: async () => {},
    subscribe: (_topic, on) => ((hint = on), () => void (hint = () => {})),
  };
  const there = new Map([
    ["z1", "a1"],
    ["z2", "a2"],
    ["z3", "a3"],
  ]);
  const reads: string[] = [];
  const gates: (() => void)[] = [];
  let slow = false;
  const accounts = createZoneAccounts({
    events,
    ...(max !== undefined && { max }),
    async read(zone) {
      reads.push(zone);
      const found = there.get(zone);
      if (slow) await new Promise<void>((resolve) => gates.push(resolve));
      return found;
    },
  });
  return { accounts, there, reads, gates, hint: (id: string) => hint(id), slowly: () => (slow = true) };
}

test("caches a zone after one read, but not a missing one", async () => {
  const { accounts, reads } = setUp();
  for (const zone of ["z1", "z1", "none", "none"]) await accounts.find(zone);
  assert.deepEqual(reads, ["z1", "none", "none"]);
});

test("bounds the cache", async () => {
  const { accounts, reads } = setUp(2);
  for (const zone of ["z1", "z2", "z3", "z3", "z2", "z1"]) await accounts.find(zone);
  assert.deepEqual(reads, ["z1", "z2", "z3", "z1"]);
});

test("does not cache a read that began before the zone was deleted", async () => {
  const { accounts, there, gates, slowly } = setUp();
  slowly();
  const early = accounts.find("z1");
  there.delete("z1");
  accounts.forget("z1");
  gates[0]!();
  assert.equal(await early, "a1");
  const late = accounts.find("z1");
  gates[1]!();
  assert.equal(await late, undefined);
});

test("clears the cache if notifications were lost", async () => {
  const { accounts, reads, hint } = setUp();
  await accounts.find("z1");
  hint("");
  await accounts.find("z1");
  hint("z2");
  await accounts.find("z1");
  assert.deepEqual(reads, ["z1", "z1"]);
});
