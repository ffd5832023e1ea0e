import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import { createObjectAlarms } from "./alarms.ts";
import type { ObjectStorage, ObjectWorker } from "./storage.ts";

const WORKER: ObjectWorker = { name: "w", objects: { owner: "1", namespaces: [] } };

test("a process that was killed is not restarted for its alarms until its pause has ended", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const clock = createManualClock(1_800_000_000_000);
  let release: Parameters<ObjectStorage["onReleased"]>[0] = () => {};
  const starts: string[] = [];
  const alarms = createObjectAlarms({
    storage: {
      nextAlarm: async () => clock.now(),
      onReleased(listener) {
        release = listener;
        return () => {};
      },
    },
    wake: async ({ name }) => starts.push(name) > 0,
    clock,
    log: silentLog,
  });
  t.after(() => alarms.close());
  const turn = () => new Promise((resolve) => void setImmediate(resolve));
  const advance = async (ms: number) => {
    await turn();
    t.mock.timers.tick(ms);
    await turn();
  };
  release(WORKER, 0);
  await advance(0);
  assert.deepEqual(starts, ["w"]);
  release(WORKER, 150_000);
  await advance(149_999);
  assert.deepEqual(starts, ["w"]);
  await advance(1);
  assert.deepEqual(starts, ["w", "w"]);
});
