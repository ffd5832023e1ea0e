import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { Kysely, KyselyPlugin } from "kysely";
import { onEveryDatabase, type TestEngine } from "../../../test/support/databases.ts";
import { randomIds, silentLog } from "../../kernel/index.ts";
import { createJobs, jobsMigrations, type Db } from "../../store/index.ts";
import { scriptsMigrations } from "../scripts/schema.ts";
import { author, openScriptsFixture, uploadOf, type ScriptsFixture } from "../scripts/scripts.testing.ts";
import { createSchedules } from "./schedules.ts";

const A = "a".repeat(32);
const MINUTE = 60_000;

async function until(what: () => boolean) {
  while (!what()) await sleep(5);
}

async function start(t: TestContext, engine: TestEngine) {
  const { db, another } = await engine.open(t, [...scriptsMigrations, ...jobsMigrations]);
  const fixture = await openScriptsFixture(t, db);
  const run = (from: Pick<ScriptsFixture, "live">, of: Db) => {
    const jobs = createJobs({ db: of, clock: fixture.clock, ids: randomIds, events: fixture.events, log: silentLog });
    const schedules = createSchedules({ db: of, jobs, live: from.live, clock: fixture.clock });
    t.after(() => schedules.close());
    return schedules;
  };
  return { ...fixture, run, anotherDb: another, openAnother: fixture.another };
}

/** Returns a database that simulates a crash: the first insertion of a job and every later operation fail. */
function dyingAtJobs(db: Db) {
  const death = Promise.withResolvers<void>();
  let isDead = false;
  const die = () => {
    isDead = true;
    death.resolve();
    throw new Error("kill -9");
  };
  const diesAtJobs: KyselyPlugin = {
    transformQuery({ node }) {
      if (isDead || (node.kind === "InsertQueryNode" && node.into?.table.identifier.name === "jobs")) die();
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  const dying: Db = {
    ...db,
    write: async (query) => {
      if (isDead || query.compile().sql.startsWith('insert into "jobs"')) die();
      return db.write(query);
    },
    transaction: async <Tables, Result>(work: (tx: Kysely<Tables>) => Promise<Result>) => {
      if (isDead) die();
      return db.transaction<Tables, Result>((tx) => work(tx.withPlugin(diesAtJobs)));
    },
  };
  return { db: dying, died: death.promise };
}

onEveryDatabase((engine) => {
  test("a worker runs once in each matching minute, with any number of processes, and missed minutes are skipped", async (t) => {
    const { db, scripts, clock, fake, live, run, anotherDb, openAnother } = await start(t, engine);
    await scripts.upload(A, "every", uploadOf("scheduled"), author);
    await scripts.upload(A, "third", uploadOf("scheduled"), author);
    await scripts.changeSchedules(A, "every", ["* * * * *"]);
    await scripts.changeSchedules(A, "third", ["*/3 * * * *", "0 0 1 1 *"]);
    const second = await anotherDb();
    const other = openAnother(second);
    const runners = [run({ live }, db), run(other, second)];
    const runs = () =>
      [...fake.state.runs, ...other.fake.state.runs]
        .map(({ script, cron, at }) => `${script} ${cron} ${new Date(at).toISOString().slice(11, 19)}`)
        .sort();

    // Starts at 10:00:30: the current minute is skipped.
    clock.advance(30_000);
    await until(() => runs().length >= 1);
    clock.advance(MINUTE);
    await until(() => runs().length >= 2);
    clock.advance(MINUTE);
    await until(() => runs().length >= 4);
    assert.deepEqual(runs(), [
      "every * * * * * 10:01:00",
      "every * * * * * 10:02:00",
      "every * * * * * 10:03:00",
      "third */3 * * * * 10:03:00",
    ]);

    // 10:03:30. A restart within the same minute does not repeat its runs.
    await runners.pop()!.close();
    const restarted = run({ live }, db);
    runners.push(restarted);
    clock.advance(MINUTE);
    await until(() => runs().length >= 5);
    assert.equal(runs()[3], "every * * * * * 10:04:00");

    for (const runner of runners) await runner.close();
    clock.advance(60 * MINUTE);
    // 11:04:30. The current minute has not ended.
    const late = run({ live }, db);
    await until(() => runs().length >= 6);
    clock.advance(MINUTE);
    await until(() => runs().length >= 7);
    assert.deepEqual(runs().slice(4), [
      "every * * * * * 11:04:00",
      "every * * * * * 11:05:00",
      "third */3 * * * * 10:03:00",
    ]);

    await scripts.delete(A, "every");
    clock.advance(MINUTE);
    await until(() => runs().length >= 8);
    assert.equal(runs().at(-1), "third */3 * * * * 11:06:00");
    await late.close();
    assert.equal(runs().length, 8);
  });

  for (const successor of ["another process", "the restarted process"])
    test(`if a process dies between the claim and the job, ${successor} performs the run`, async (t) => {
      const { db, scripts, clock, fake, live, run, anotherDb, openAnother } = await start(t, engine);
      for (const name of ["one", "two", "three"]) {
        await scripts.upload(A, name, uploadOf("scheduled"), author);
        await scripts.changeSchedules(A, name, ["* * * * *"]);
      }
      const dying = dyingAtJobs(await anotherDb());
      const dead = run({ live }, dying.db);
      const second = await anotherDb();
      const other = openAnother(second);
      const runs = () => [...fake.state.runs, ...other.fake.state.runs].map(({ script }) => script).sort();

      clock.advance(MINUTE);
      await dying.died;
      await dead.close();
      assert.deepEqual(runs(), []);
      const next = successor === "another process" ? run(other, second) : run({ live }, db);
      await until(() => runs().length >= 3);
      clock.advance(MINUTE);
      await until(() => runs().length >= 6);
      await next.close();
      assert.deepEqual(runs(), ["one", "one", "three", "three", "two", "two"]);
    });

  test("repeats a failed check within the same minute", async (t) => {
    const { db, scripts, clock, fake, live, run } = await start(t, engine);
    await scripts.upload(A, "every", uploadOf("scheduled"), author);
    await scripts.changeSchedules(A, "every", ["* * * * *"]);
    const nextMinute = (Math.floor(clock.now() / MINUTE) + 1) * MINUTE;
    let [checks, failures] = [0, 0];
    const failing: Db = {
      ...db,
      transaction: async (work) => {
        if (clock.now() < nextMinute || failures === 2) return db.transaction(work).finally(() => checks++);
        failures++;
        throw new Error("the server does not respond");
      },
    };
    run({ live }, failing);
    await until(() => checks === 1);
    await setImmediate();
    clock.advance(MINUTE);
    for (const failure of [1, 2]) {
      await until(() => failures === failure);
      await setImmediate();
      clock.advance(2000);
    }
    await until(() => fake.state.runs.length >= 1);
    assert.equal(Number(fake.state.runs[0]!.at), nextMinute);
  });
});
