import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { storeErrors, type Db, type ObjectStore } from "../../store/index.ts";
import { mailOf, noActions } from "../runtime/runtime.testing.ts";
import { scriptsMigrations } from "./schema.ts";
import { author, openScriptsFixture, storedModules, uploadOf, type ScriptsFixture } from "./scripts.testing.ts";

const A = "a".repeat(32);

/** Behavior of concurrent deploys and of failing steps. */
export function scriptsConcurrency(engine: TestEngine): void {
  const answer = async ({ live }: Pick<ScriptsFixture, "live">, script = "mail") =>
    (await live.email({ account: A, script }, mailOf(), noActions)).rejected;

  describe("concurrent deploys", () => {
    test("all succeed in one process and in two, and the last one is live", async (t) => {
      const { db, another } = await engine.open(t, scriptsMigrations);
      const one = await openScriptsFixture(t, db);
      const two = one.another(await another());
      const uploads = await Promise.all(
        [one, two, one, two, one, two].map(({ scripts }, i) =>
          scripts.upload(A, "mail", uploadOf(`email ${i}`), author),
        ),
      );
      assert.deepEqual(uploads.map(({ version }) => version.number).sort(), [1, 2, 3, 4, 5, 6]);
      assert.equal(new Set(uploads.map(({ script }) => script.id)).size, 1);
      for (const [i, { version }] of uploads.entries())
        assert.equal((await one.scripts.modules(version))[0]!.content, `email ${i}`);
      const last = uploads.find(({ version }) => version.number === 6)!.version.id;
      assert.equal((await one.scripts.get(A, "mail"))!.live!.versions[0]!.versionId, last);
      assert.deepEqual([await answer(one), await answer(two)], [last, last]);
    });

    test("keep every secret if two processes change them", async (t) => {
      const { db, another } = await engine.open(t, scriptsMigrations);
      const one = await openScriptsFixture(t, db);
      const two = one.another(await another());
      await one.scripts.upload(A, "mail", uploadOf("email"), author);
      await Promise.all(
        Array.from({ length: 6 }, (_, i) =>
          (i % 2 ? one : two).scripts.changeSecrets(A, "mail", { [`S${i}`]: String(i) }, author),
        ),
      );
      assert.deepEqual((await one.scripts.secrets(A, "mail")).sort(), ["S0", "S1", "S2", "S3", "S4", "S5"]);
    });

    test("another process is notified of a deploy and uses it for its next message", async (t) => {
      const { db, another } = await engine.open(t, scriptsMigrations);
      const one = await openScriptsFixture(t, db);
      const two = one.another(await another());
      const first = (await one.scripts.upload(A, "mail", uploadOf("email 1"), author)).version;
      assert.equal(await answer(two), first.id);
      const removed = new Promise<void>((resolve) => {
        const remove = two.fake.runtime.remove;
        two.fake.runtime.remove = async (name) => remove(name).then(resolve);
      });
      const second = (await one.scripts.upload(A, "mail", uploadOf("email 2"), author)).version;
      await removed;
      assert.deepEqual([await answer(two), two.fake.state.removed.length, two.fake.state.tried], [second.id, 1, 0]);
    });

    test("create many new workers in one account from two processes", async (t) => {
      const { db, another } = await engine.open(t, scriptsMigrations);
      const one = await openScriptsFixture(t, db, { limits: { scriptsPerAccount: 24 } });
      const two = one.another(await another());
      await Promise.all(
        Array.from({ length: 24 }, (_, i) =>
          (i % 2 ? one : two).scripts.upload(A, `mail-${i}`, uploadOf(`email ${i}`), author),
        ),
      );
      assert.equal((await one.scripts.list(A)).total, 24);
    });

    test("requests above the queue limit are rejected", async (t) => {
      const { db } = await engine.open(t, scriptsMigrations);
      const { scripts, fake } = await openScriptsFixture(t, db, { limits: { waitingDeploys: 2 } });
      let go = () => {};
      const gate = new Promise<void>((resolve) => (go = resolve));
      fake.state.beforeStart = () => gate;
      const all = Array.from({ length: 5 }, (_, i) => scripts.upload(A, "mail", uploadOf(`email ${i}`), author));
      await assert.rejects(all[4]!, { kind: "tooManyDeploys" });
      await assert.rejects(all[3]!, { kind: "tooManyDeploys" });
      go();
      assert.deepEqual(
        (await Promise.all(all.slice(0, 3))).map(({ version }) => version.number),
        [1, 2, 3],
      );
    });
  });

  describe("a failing step", () => {
    const full = storeErrors.diskFull({ what: "a module" });

    test("with no space for a module changes nothing", async (t) => {
      const { db } = await engine.open(t, scriptsMigrations);
      const broken = { on: false };
      const objects = (real: ObjectStore): ObjectStore => ({
        ...real,
        put: (...args) => (broken.on ? Promise.reject(full) : real.put(...args)),
      });
      const { scripts, live, fake } = await openScriptsFixture(t, db, { objects });
      broken.on = true;
      await assert.rejects(scripts.upload(A, "mail", uploadOf("email"), author), { kind: "diskFull" });
      assert.deepEqual([await scripts.get(A, "mail"), fake.known.size], [undefined, 0]);
      broken.on = false;
      const { version } = await scripts.upload(A, "mail", uploadOf("email"), author);
      broken.on = true;
      await assert.rejects(scripts.upload(A, "mail", uploadOf("email 2"), author), { kind: "diskFull" });
      assert.deepEqual(
        [await answer({ live }), fake.known.size, (await scripts.get(A, "mail"))!.latest!.id],
        [version.id, 1, version.id],
      );
    });

    test("with no space for the rows changes nothing, and the modules are swept", async (t) => {
      const { db } = await engine.open(t, scriptsMigrations);
      const broken = { on: false };
      // The last statement of the transaction fails: the earlier ones must be rolled back.
      const failing: Db = {
        ...db,
        tables: () => db.tables(),
        transaction: (work) =>
          db.transaction(async (tx) => {
            const result = await work(tx as never);
            if (broken.on) throw full;
            return result;
          }) as never,
      };
      const { scripts, live, fake, objects } = await openScriptsFixture(t, failing);
      const { version } = await scripts.upload(A, "mail", uploadOf("email"), author);
      broken.on = true;
      await assert.rejects(scripts.upload(A, "mail", uploadOf("email 2"), author), { kind: "diskFull" });
      await assert.rejects(scripts.upload(A, "new", uploadOf("email 3"), author), { kind: "diskFull" });
      await assert.rejects(
        scripts.deploy(A, "mail", { versions: [{ versionId: version.id, percentage: 100 }] }, author),
        { kind: "diskFull" },
      );
      broken.on = false;
      assert.deepEqual(
        [await answer({ live }), fake.known.size, await scripts.get(A, "new")],
        [version.id, 1, undefined],
      );
      assert.deepEqual(
        [
          (await scripts.deployments(A, "mail")).total,
          (await scripts.versions(A, "mail", { page: 1, perPage: 5 })).total,
        ],
        [1, 1],
      );
      assert.equal((await storedModules(objects)).length, 3);
      assert.equal((await scripts.sweep({ orphanGraceMs: -100 * 365 * 24 * 3600_000 })).orphans, 2);
      assert.equal((await scripts.modules(version)).length, 1);
    });

    test("a version without its modules responds with an error and does not prevent others from running", async (t) => {
      const { db, another } = await engine.open(t, scriptsMigrations);
      const one = await openScriptsFixture(t, db);
      await one.scripts.upload(A, "mail", uploadOf("email"), author);
      await one.objects.delete(await storedModules(one.objects));
      const good = (await one.scripts.upload(A, "good", uploadOf("email 2"), author)).version;
      const later = one.another(await another());
      const { outcome, exception } = await later.live.email({ account: A, script: "mail" }, mailOf(), noActions);
      assert.deepEqual([outcome, exception!.message], ["exception", "The Worker could not be run."]);
      assert.equal(await answer(later, "good"), good.id);
    });
  });
}
