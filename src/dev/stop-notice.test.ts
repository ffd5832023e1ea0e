import assert from "node:assert/strict";
import { it } from "node:test";
import { createLifecycle, silentLog } from "../kernel/index.ts";
import type { DevEvent } from "./events.ts";
import { reportSlowStop } from "./stop-notice.ts";

it("reports a shutdown only if it takes longer than half a second", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const stop = async (ms: number) => {
    const events: DevEvent[] = [];
    const lifecycle = createLifecycle({ log: silentLog });
    reportSlowStop(lifecycle, (event) => void events.push(event));
    lifecycle.onStop("work", () => t.mock.timers.tick(ms));
    await lifecycle.stop();
    t.mock.timers.tick(10_000);
    return events.map(({ event }) => event);
  };
  assert.deepEqual(await stop(400), []);
  assert.deepEqual(await stop(600), ["notice"]);
});
