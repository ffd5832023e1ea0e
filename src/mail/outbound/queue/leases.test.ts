import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as soon } from "node:timers/promises";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import type { ClaimsTable } from "./claims-table.ts";
import { createLeases } from "./leases.ts";

test("a claim is given up in time even if the database does not respond", async () => {
  const clock = createManualClock(0);
  let renewals = 0;
  const table = { renew: () => (renewals++, new Promise(() => {})) } as unknown as ClaimsTable;
  const over = new AbortController();
  const leases = createLeases({ table, clock, log: silentLog, leaseMs: 60_000, stopSignal: over.signal });
  const held = leases.acquire("one");
  for (let at = 20_000; at <= 60_000; at += 20_000) {
    clock.advance(20_000);
    await soon();
  }
  assert.deepEqual([renewals, held.lost], [1, false]);
  clock.advance(20_000);
  await soon();
  assert.deepEqual([renewals, held.lost, held.controller.signal.aborted], [1, true, true]);
  over.abort();
});
