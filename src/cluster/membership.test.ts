import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { onEveryDatabase, type TestDatabase } from "../../test/support/databases.ts";
import { silentLog } from "../kernel/index.ts";
import { createLocalEvents, type Db } from "../store/index.ts";
import { checkVersions, joinCluster, type ClusterMembership } from "./membership.ts";
import { clusterMigrations } from "./migrations.ts";
import { createNodesTable } from "./nodes-table.ts";

const FAST = { beatMs: 20, deadMs: 3000, sweepMs: 5000 };

/** The memberships are closed before the database. */
async function setUp(t: TestContext, open: () => Promise<TestDatabase>) {
  const events = createLocalEvents({ log: silentLog });
  const joined: ClusterMembership[] = [];
  t.after(async () => {
    await Promise.all(joined.map((membership) => membership.close()));
    await events.close();
  });
  const database = await open();
  const join = async (db: Db, id: string, { version = "1.2.3", roles = ["api"] } = {}) => {
    const node = { id, name: `name of ${id}`, address: "127.0.0.1:1", roles, version };
    const membership = await joinCluster({ db, events, log: silentLog, node, limits: FAST });
    joined.push(membership);
    return membership;
  };
  return { ...database, join };
}

/** Polls for at most 60 s. The timer keeps the process alive; the timers of a membership do not. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await condition()); await sleep(2))
    assert.ok(Date.now() < deadline, `timed out: ${condition.toString()}`);
}

const idsOf = (membership: ClusterMembership) => membership.nodes().map(({ id }) => id);

onEveryDatabase((engine) => {
  const open = (t: TestContext): Promise<TestDatabase> => engine.open(t, clusterMigrations);

  test("each node sees the others start, drain and leave", async (t) => {
    const { db, another, join } = await setUp(t, () => open(t));
    const one = await join(db, "a");
    const two = await join(await another(), "b", { roles: ["smtp", "dns"] });
    await until(() => idsOf(one).includes("b"));
    assert.deepEqual(idsOf(two), ["a", "b"]);
    const [, seen] = one.nodes();
    assert.deepEqual(
      { ...seen, startedAt: 0, silentMs: 0, load: 0 },
      {
        id: "b",
        name: "name of b",
        address: "127.0.0.1:1",
        roles: ["smtp", "dns"],
        version: "1.2.3",
        load: 0,
        startedAt: 0,
        silentMs: 0,
        isDraining: false,
      },
    );
    await two.drain();
    await until(() => one.nodes()[1]?.isDraining === true);
    await two.close();
    await until(() => idsOf(one).length === 1);
  });

  test("a node without heartbeats counts as dead after the limit, and its row is removed later", async (t) => {
    const { db, join } = await setUp(t, () => open(t));
    const table = createNodesTable(db);
    const silent = {
      id: "silent",
      name: "silent",
      address: "",
      roles: ["api"],
      version: "1.2.3",
      load: 0,
      isDraining: false,
    };
    await table.beat(silent);
    const one = await join(db, "a");
    assert.deepEqual(idsOf(one).toSorted(), ["a", "silent"]);
    await until(() => !idsOf(one).includes("silent"));
    await until(async () => (await table.list(3_600_000)).every(({ id }) => id !== "silent"));
    // A node that could not reach the database adds its row again.
    await table.beat(silent);
    await until(() => idsOf(one).includes("silent"));
  });

  test("nodes remain live during an outage of the database", async (t) => {
    const { db, another, join } = await setUp(t, () => open(t));
    let isFailing = false;
    const refuseWhileFailing = <Method extends (...given: never[]) => Promise<unknown>>(method: Method) =>
      ((...given: never[]) => (isFailing ? Promise.reject(new Error("no database")) : method(...given))) as Method;
    const one = await join({ ...db, write: refuseWhileFailing(db.write), read: refuseWhileFailing(db.read) }, "a");
    const { beat, list } = createNodesTable(await another());
    const other = { id: "b", name: "b", address: "", roles: ["api"], version: "1.2.3", load: 0, isDraining: false };
    await beat(other);
    await until(() => idsOf(one).length === 2);
    const changes: string[][] = [];
    one.onChange(() => changes.push(idsOf(one)));
    isFailing = true;
    // Both heartbeats are late now. This node is the first to resume.
    await until(async () => (await list(FAST.deadMs)).length === 0);
    isFailing = false;
    await until(async () => (await list(FAST.deadMs)).some(({ id }) => id === "a"));
    await beat(other);
    await until(() => one.nodes().some(({ id, silentMs }) => id === "b" && silentMs < FAST.deadMs));
    assert.deepEqual(changes, []);
    // The other node is silent for as long, without an outage.
    await until(() => idsOf(one).length === 1);
  });

  test("rejects a node with an incompatible version, and removes its row", async (t) => {
    const { db, join } = await setUp(t, () => open(t));
    await join(db, "a");
    await checkVersions(db, "1.3.0");
    await assert.rejects(checkVersions(db, "1.4.0"), {
      kind: "versionsApart",
      message: /name of a runs Reelpost 1\.2\.3/,
    });
    await assert.rejects(join(db, "b", { version: "2.0.0" }), { kind: "versionsApart" });
    assert.deepEqual(
      (await createNodesTable(db).list(60_000)).map(({ id }) => id),
      ["a"],
    );
  });

  test("does not check versions if the database has no nodes", async (t) => {
    const { db } = await engine.open(t);
    await checkVersions(db, "1.2.3");
  });
});
