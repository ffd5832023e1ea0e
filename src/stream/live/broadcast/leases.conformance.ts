import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createMemoryLeases, INPUT } from "./broadcast.testing.ts";
import type { BroadcastLeases, LeaseClaim } from "./leases.ts";
import { broadcastMigrations, createLeasesTable } from "./leases-table.ts";

const [HERE, THERE] = ["3".repeat(32), "4".repeat(32)];
const [ONE, TWO] = ["5".repeat(32), "6".repeat(32)];
const claim = (owner: string, now: number, more: Partial<LeaseClaim> = {}): LeaseClaim => ({
  input: INPUT,
  account: "a".repeat(32),
  video: ONE,
  owner,
  now,
  until: now + 10,
  timeoutMs: 20,
  deleteAfterDays: 30,
  ...more,
});

export function leasesConformance(engine: TestEngine): void {
  const kinds: [string, (t: Parameters<TestEngine["open"]>[0]) => Promise<BroadcastLeases>][] = [
    ["in the database", async (t) => createLeasesTable((await engine.open(t, broadcastMigrations)).db)],
    ["in memory", async () => createMemoryLeases()],
  ];
  for (const [where, open] of kinds) {
    test(`the leases ${where}: one process controls an input, and another takes over when the broadcast is waiting or the lease expires`, async (t) => {
      const leases = await open(t);
      const [here, there] = [HERE, THERE].map((owner) => ({ input: INPUT, owner })) as [LeaseClaim, LeaseClaim];
      assert.deepEqual(await leases.acquire(claim(HERE, 1000)), { kind: "begun", video: ONE });
      assert.deepEqual(await leases.acquire(claim(HERE, 1001, { video: TWO })), { kind: "continued", video: ONE });
      assert.deepEqual(await leases.acquire(claim(THERE, 1005, { video: TWO })), { kind: "busy" });
      assert.deepEqual(await leases.renew(HERE, 1030), new Set([INPUT]));
      assert.deepEqual(await leases.renew(THERE, 1030), new Set());
      assert.deepEqual(await leases.acquire(claim(THERE, 1025, { video: TWO })), { kind: "busy" });
      assert.deepEqual(await leases.findLapsed(THERE, 1029), []);
      assert.deepEqual((await leases.findLapsed(HERE, 1029)).length, 1);
      assert.deepEqual(
        await leases.acquire(claim(THERE, 1031, { video: TWO })),
        { kind: "continued", video: ONE },
        "the lease of the other process has expired",
      );
      assert.equal(await leases.setEndTime(here, 5), false);
      assert.equal(await leases.drop(here), false);

      assert.equal(await leases.setEndTime(there, 1050), true);
      assert.deepEqual((await leases.find(INPUT))?.overAt, 1050);
      assert.deepEqual(
        await leases.acquire(claim(HERE, 1035)),
        { kind: "continued", video: ONE },
        "the lease of a waiting process can be taken over",
      );
      assert.deepEqual(await leases.find(INPUT), {
        input: INPUT,
        account: "a".repeat(32),
        video: ONE,
        owner: HERE,
        leaseUntil: 1045,
        overAt: null,
        timeoutMs: 20,
        deleteAfterDays: 30,
      });
      await leases.setEndTime(here, 1040);
      const over = await leases.acquire(claim(THERE, 1040, { video: TWO, deleteAfterDays: null }));
      assert.deepEqual(over, {
        kind: "over",
        row: {
          input: INPUT,
          account: "a".repeat(32),
          video: ONE,
          owner: THERE,
          leaseUntil: 1050,
          overAt: 1040,
          timeoutMs: 20,
          deleteAfterDays: 30,
        },
      });
      assert.equal(await leases.drop(there), true);
      assert.equal(await leases.find(INPUT), undefined);

      await leases.acquire(claim(HERE, 2000, { video: "", deleteAfterDays: null }));
      assert.deepEqual(
        (await leases.acquire(claim(HERE, 2001))).kind,
        "over",
        "a session that is not recorded is a separate broadcast",
      );
      await leases.drop(here);
      await leases.acquire(claim(HERE, 3000));
      assert.deepEqual((await leases.acquire(claim(THERE, 3031))).kind, "over", "its publisher was away for too long");
      await leases.drop(there);

      await leases.acquire(claim(HERE, 4000));
      await leases.expireOthers(HERE, 4001);
      assert.deepEqual(await leases.findLapsed(THERE, 4001), []);
      await leases.expireOthers(THERE, 4001);
      const [row] = await leases.findLapsed(THERE, 4001);
      assert.equal(row!.leaseUntil, 4001);
      assert.deepEqual(
        await Promise.all([HERE, THERE].map((owner) => leases.adopt(row!, { owner, until: 4020 }))).then(
          (won) => won.filter(Boolean).length,
        ),
        1,
      );
      const { owner } = (await leases.find(INPUT))!;
      await leases.release(owner, 4002);
      assert.equal((await leases.findLapsed("nobody", 4002)).length, 1);
    });
  }

  test("exactly one of many processes that claim an input concurrently gets it", async (t) => {
    const { db, another } = await engine.open(t, broadcastMigrations);
    const tables = [db, await another()].map(createLeasesTable);
    const owners = Array.from({ length: 6 }, (_, i) => String(i).repeat(32));
    const taken = await Promise.all(
      owners.map((owner, i) => tables[i % 2]!.acquire(claim(owner, 1000, { video: owner }))),
    );
    assert.deepEqual(taken.map(({ kind }) => kind).sort(), ["begun", ...Array.from({ length: 5 }, () => "busy")]);
  });
}
