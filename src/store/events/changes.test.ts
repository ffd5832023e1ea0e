import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../kernel/index.ts";
import { publishChange, onPublishedChange, type Change } from "./changes.ts";
import { createLocalEvents } from "./local.ts";

test("a change arrives with its topic, account, zone and id", async (t) => {
  const events = createLocalEvents({ log: silentLog });
  t.after(() => events.close());
  const received: (Change | undefined)[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  onPublishedChange(events, (change) => received.push(change) === 4 && resolve());
  publishChange(events, { topic: "videos", account: "a".repeat(32), id: "v:1" });
  publishChange(events, { topic: "dns", account: "a".repeat(32), zone: "b".repeat(32), id: "" });
  publishChange(events, { topic: "kv", account: "a".repeat(32), id: "a key with spaces" });
  publishChange(events, { topic: "kv", account: "a".repeat(32), id: "x".repeat(101) });
  await promise;
  assert.deepEqual(received, [
    { topic: "videos", account: "a".repeat(32), id: "v:1" },
    { topic: "dns", account: "a".repeat(32), zone: "b".repeat(32), id: "" },
    { topic: "kv", account: "a".repeat(32), id: "" },
    { topic: "kv", account: "a".repeat(32), id: "" },
  ]);
});

test("a listener is notified when events may have been lost", () => {
  let listener: (id: string) => void = () => {};
  const received: (Change | undefined)[] = [];
  onPublishedChange({ subscribe: (_topic, on) => ((listener = on), () => {}) }, (change) => received.push(change));
  listener("");
  assert.deepEqual(received, [undefined]);
});
