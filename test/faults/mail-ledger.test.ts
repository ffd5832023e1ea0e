import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startCluster, type Cluster } from "../support/postgres.ts";
import { runLedger } from "./mail-ledger/ledger.ts";

let cluster: Cluster | undefined;
before(async () => void (cluster = await startCluster()));
after(() => cluster?.stop());

test(
  "under load with a kill -9 of each role in turn, every acknowledged message arrives, is handled, or is reported to its sender",
  // Nine starts of a server, each of several seconds on a busy machine.
  { timeout: 240_000 },
  async (t) => {
    assert.ok(cluster, "PostgreSQL is not installed");
    const ledger = await runLedger(t, { cluster, kills: 2, betweenMs: 700, settleMs: 120_000, clients: 6 });
    const { lost, duplicates, unacknowledged, kills, delivered, kept, bounced } = ledger;
    t.diagnostic(JSON.stringify({ ...ledger, lost: lost.length }));
    assert.deepEqual(lost, []);
    assert.ok(duplicates <= unacknowledged, `${duplicates} duplicates, ${unacknowledged} unacknowledged`);
    for (const count of [delivered, kept, bounced, ...Object.values(kills)])
      assert.ok(count > 0, JSON.stringify(ledger));
  },
);
