import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../kernel/index.ts";
import { createLocalEvents } from "./local.ts";
import { createVersions } from "./versions.ts";

test("a version remains the same until its subject changes, and never recurs", async (t) => {
  const events = createLocalEvents({ log: silentLog });
  let lost = () => {};
  const listening = {
    ...events,
    subscribe: (topic: string, on: (id: string) => void) => ((lost = () => on("")), events.subscribe(topic, on)),
  };
  const versions = createVersions({ events: listening, topic: "things", alone: true });
  t.after(() => events.close());
  const seen = new Set([versions.of("a")]);
  versions.markChanged("b");
  assert.ok(seen.has(versions.of("a")));
  for (let i = 0; i < 25_000; i++) versions.markChanged(`t${i % 12_000}`);
  versions.markChanged("a");
  assert.ok(!seen.has(versions.of("a")));
  seen.add(versions.of("a"));
  events.publish("things", "a");
  await new Promise(setImmediate);
  assert.ok(!seen.has(versions.of("a")), "a notification from another process");
  seen.add(versions.of("a"));
  // A subscription calls this when notifications may have been lost.
  lost();
  assert.ok(!seen.has(versions.of("a")));
});

test("returns no version if other processes write, too", (t) => {
  const events = createLocalEvents({ log: silentLog });
  t.after(() => events.close());
  assert.equal(createVersions({ events, topic: "things", alone: false }).of("a"), undefined);
});
