import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
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

    for (const runner of runners) await runner.close();
    clock.advance(60 * MINUTE);
    const late = run({ live }, db);
    clock.advance(MINUTE);
    await until(() => runs().length >= 5);
    assert.deepEqual(runs().slice(3), ["every * * * * * 11:04:00", "third */3 * * * * 10:03:00"]);

    await scripts.delete(A, "every");
    clock.advance(2 * MINUTE);
    await until(() => runs().length >= 6);
    assert.equal(runs().at(-1), "third */3 * * * * 11:06:00");
    await late.close();
    assert.equal(runs().length, 6);
  });
});
