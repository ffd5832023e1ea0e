import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as soon } from "node:timers/promises";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import type { JobsTable } from "./jobs-table.ts";
import { startLeaseRenewal, type Lease } from "./leases.ts";

test("a lease expires and aborts its job while the database is not responding", async () => {
  const clock = createManualClock(0);
  let renewals = 0;
  const table = { renew: () => (renewals++, new Promise(() => {})) } as unknown as JobsTable;
  const over = new AbortController();
  const lease = { id: "one", until: 60_000, lost: false, controller: new AbortController() } as unknown as Lease;
  startLeaseRenewal({ table, clock, log: silentLog }, new Set([lease]), 60_000, over.signal);
  for (let at = 20_000; at <= 60_000; at += 20_000) {
    clock.advance(20_000);
    await soon();
  }
  assert.deepEqual([renewals, lease.lost], [1, false]);
  clock.advance(20_000);
  await soon();
  assert.deepEqual([renewals, lease.lost, lease.controller.signal.aborted], [1, true, true]);
  over.abort();
});

test("a lease missing from the table is lost, and a renewed lease stays valid", async () => {
  const clock = createManualClock(0);
  const table = { renew: async () => new Set(["stands"]) } as unknown as JobsTable;
  const over = new AbortController();
  const of = (id: string) =>
    ({ id, until: 60_000, lost: false, controller: new AbortController() }) as unknown as Lease;
  const [stands, gone] = [of("stands"), of("gone")];
  startLeaseRenewal({ table, clock, log: silentLog }, new Set([stands, gone]), 60_000, over.signal);
  clock.advance(20_000);
  await soon();
  await soon();
  assert.deepEqual([stands.lost, stands.until, gone.lost, gone.controller.signal.aborted], [false, 80_000, true, true]);
  over.abort();
});
