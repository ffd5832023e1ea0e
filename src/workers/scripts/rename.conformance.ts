import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { mailOf, noActions } from "../runtime/runtime.testing.ts";
import { A, B, code, email, KEEP_SECRETS, secretsOf, start } from "./conformance.testing.ts";
import type { ScriptRename } from "./references.ts";
import { scriptsMigrations } from "./schema.ts";
import type { Binding } from "./script.ts";
import { author, openScriptsFixture, uploadOf, type ScriptsFixture } from "./scripts.testing.ts";

const PAGE = { page: 1, perPage: 50 };
const callsTo = (service: string): Binding => ({ type: "service", name: "OTHER", service });

/** Returns the running worker of a version. */
const running = ({ fake }: Pick<ScriptsFixture, "fake">, versionId: string) =>
  [...fake.known.values()].filter(({ version }) => version === versionId);

/** Behavior of renaming workers on every database engine. */
export function renameConformance(engine: TestEngine): void {
  describe("renaming a worker", () => {
    test("keeps its id, versions, deployments, secrets and schedules, and runs under the new name", async (t) => {
      const fixture = await start(engine, t);
      const { scripts, live, clock } = fixture;
      const bindings: Binding[] = [{ type: "secret_text", name: "KEY", text: "hunter2" }];
      const { script } = await scripts.upload(A, "mail", uploadOf("email", { bindings }), author);
      const { version } = await scripts.upload(A, "mail", uploadOf("email 2", KEEP_SECRETS), author);
      await scripts.changeSchedules(A, "mail", ["* * * * *"]);
      clock.advance(1000);
      const renamed = await scripts.rename(A, "mail", "post", { tags: ["new"] });
      assert.deepEqual(
        [renamed.id, renamed.name, renamed.tags, renamed.createdAt, renamed.modifiedAt.getTime()],
        [script.id, "post", ["new"], script.createdAt, clock.now()],
      );
      assert.deepEqual(await scripts.get(A, "post"), renamed);
      assert.deepEqual(
        (await scripts.versions(A, "post", PAGE)).items.map(({ number, script: name }) => [number, name]),
        [
          [2, "post"],
          [1, "post"],
        ],
      );
      assert.equal((await scripts.deployments(A, "post")).total, 2);
      assert.deepEqual(await scripts.secrets(A, "post"), ["KEY"]);
      assert.deepEqual(
        (await scripts.schedules(A, "post")).map(({ cron }) => cron),
        ["* * * * *"],
      );
      assert.equal(await email({ live }, "post"), version.id);
      assert.deepEqual(
        running(fixture, version.id).map(({ name }) => name),
        ["post"],
        "the process of the former name has been replaced",
      );
      assert.deepEqual(secretsOf(fixture, version.id), { KEY: "hunter2" });
      const next = (await scripts.upload(A, "post", uploadOf("email 3", KEEP_SECRETS), author)).version;
      assert.deepEqual([next.number, secretsOf(fixture, next.id)], [3, { KEY: "hunter2" }]);
    });

    test("leaves nothing for a new worker of the former name", async (t) => {
      const fixture = await start(engine, t);
      const { scripts, live } = fixture;
      const bindings: Binding[] = [{ type: "secret_text", name: "KEY", text: "hunter2" }];
      const { script, version } = await scripts.upload(A, "mail", uploadOf("email", { bindings }), author);
      await scripts.changeSchedules(A, "mail", ["* * * * *"]);
      await scripts.rename(A, "mail", "post");
      assert.equal(await scripts.get(A, "mail"), undefined);
      await assert.rejects(scripts.versions(A, "mail", PAGE), code(10007));
      await assert.rejects(scripts.secrets(A, "mail"), code(10007));

      const other = await scripts.upload(A, "mail", uploadOf("email 2", KEEP_SECRETS), author);
      assert.notEqual(other.script.id, script.id);
      assert.deepEqual([other.version.number, other.version.bindings, await scripts.secrets(A, "mail")], [1, [], []]);
      assert.deepEqual(await scripts.schedules(A, "mail"), []);
      assert.deepEqual([await email({ live }, "mail"), await email({ live }, "post")], [other.version.id, version.id]);
      await scripts.delete(A, "mail");
      assert.equal(await email({ live }, "post"), version.id);
    });

    test("changes the bindings and tail consumers of other workers, in all their versions", async (t) => {
      const fixture = await start(engine, t);
      const { scripts, live } = fixture;
      const { script } = await scripts.upload(A, "api", uploadOf("email tail"), author);
      await scripts.upload(A, "api_", uploadOf("email tail"), author);
      await scripts.upload(B, "api", uploadOf("email"), author);
      const text: Binding = { type: "plain_text", name: "TEXT", text: "api" };
      const similar: Binding = { ...callsTo("api_"), name: "SIMILAR" };
      const settings = { tailConsumers: [{ service: "api", environment: "production" }, { service: "api_" }] };
      const first = await scripts.upload(A, "site", uploadOf("email", { bindings: [callsTo("api")] }), author);
      const { version } = await scripts.upload(
        A,
        "site",
        uploadOf("email 2", { bindings: [callsTo("api"), similar, text], settings }),
        author,
      );
      const theirs = await scripts.upload(B, "site", uploadOf("email", { bindings: [callsTo("api")] }), author);
      assert.equal(await email({ live }, "site"), version.id);

      await scripts.rename(A, "api", "backend");
      assert.deepEqual((await scripts.version(A, "site", version.id))!.bindings, [callsTo("backend"), similar, text]);
      assert.deepEqual((await scripts.version(A, "site", first.version.id))!.bindings, [callsTo("backend")]);
      assert.deepEqual((await scripts.version(B, "site", theirs.version.id))!.bindings, [callsTo("api")]);
      assert.deepEqual((await scripts.get(A, "site"))!.tailConsumers, [
        { service: "backend", environment: "production" },
        { service: "api_" },
      ]);
      // The caller runs with the new name, and finds the worker by its id.
      assert.equal(await email({ live }, "site"), version.id);
      assert.deepEqual(
        running(fixture, version.id).map(({ bindings }) => bindings[0]),
        [{ ...callsTo("backend"), service_id: script.id }],
      );
    });

    test("a reference that was read before the rename still reaches the worker, until another takes its name", async (t) => {
      const { scripts, live, clock } = await start(engine, t);
      const { version, script } = await scripts.upload(A, "mail", uploadOf("email"), author);
      await scripts.rename(A, "mail", "post");
      assert.equal(await email({ live }, "mail"), version.id);
      const byId = { account: A, script: "mail", id: script.id };
      assert.equal((await live.email(byId, mailOf(), noActions)).rejected, version.id);
      const other = await scripts.upload(A, "mail", uploadOf("email 2"), author);
      assert.equal(await email({ live }, "mail"), other.version.id);
      assert.equal((await live.email(byId, mailOf(), noActions)).rejected, version.id);
      await scripts.delete(A, "mail");
      clock.advance(61_000);
      assert.equal(await email({ live }, "mail"), undefined);
      assert.equal(await email({ live }, "post"), version.id);
    });

    test("another process is notified, and replaces the processes of the worker and of its callers", async (t) => {
      const { db, another } = await engine.open(t, scriptsMigrations);
      const one = await openScriptsFixture(t, db);
      const two = one.another(await another());
      const { version } = await one.scripts.upload(A, "api", uploadOf("email"), author);
      const site = await one.scripts.upload(A, "site", uploadOf("email", { bindings: [callsTo("api")] }), author);
      assert.deepEqual([await email(two, "api"), await email(two, "site")], [version.id, site.version.id]);
      const removed = new Promise<void>((resolve) => {
        const { remove } = two.fake.runtime;
        two.fake.runtime.remove = async (name) => {
          await remove(name);
          if (two.fake.state.removed.length === 2) resolve();
        };
      });
      await one.scripts.rename(A, "api", "backend");
      await removed;
      assert.deepEqual(
        [await email(two, "backend"), await email(two, "site"), await two.scripts.get(A, "api")],
        [version.id, site.version.id, undefined],
      );
      assert.deepEqual(
        [...two.fake.known.values()].map(({ name, bindings }) => [
          name,
          bindings.map((each) => "service" in each && each.service),
        ]),
        [
          ["backend", []],
          ["site", ["backend"]],
        ],
      );
    });

    test("is rejected without effect for a taken or invalid name, and for invalid settings", async (t) => {
      const { scripts, live } = await start(engine, t);
      const { script, version } = await scripts.upload(A, "mail", uploadOf("email"), author);
      await scripts.upload(A, "post", uploadOf("email 2"), author);
      for (const name of ["post", "mail"]) await assert.rejects(scripts.rename(A, "mail", name), code(10040));
      await assert.rejects(scripts.rename(A, "mail", "No Name"), code(10016));
      await assert.rejects(scripts.rename(A, "none", "other"), code(10007));
      await assert.rejects(scripts.rename(A, "mail", "other", { tailConsumers: [{ service: "none" }] }));
      assert.deepEqual([await scripts.get(A, "mail"), await scripts.get(A, "other")], [script, undefined]);
      assert.equal(await email({ live }), version.id);
    });

    test("gives the name to one of two concurrent requests, and lets two workers exchange their names", async (t) => {
      const { db, another } = await engine.open(t, scriptsMigrations);
      const one = await openScriptsFixture(t, db);
      const two = one.another(await another());
      const a = await one.scripts.upload(A, "a", uploadOf("email"), author);
      const b = await one.scripts.upload(A, "b", uploadOf("email 2"), author);
      const results = await Promise.allSettled([one.scripts.rename(A, "a", "c"), two.scripts.rename(A, "b", "c")]);
      assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
      const isFirst = results[0].status === "fulfilled";
      assert.equal((await one.scripts.get(A, "c"))!.id, (isFirst ? a : b).script.id);
      const left = isFirst ? "b" : "a";
      await Promise.allSettled([one.scripts.rename(A, "c", left), one.scripts.rename(A, left, "c")]);
      assert.deepEqual((await one.scripts.list(A)).items.map(({ id }) => id).sort(), [a.script.id, b.script.id].sort());
    });

    test("is undone completely if a domain fails, and is announced after the commit", async (t) => {
      const calls: (ScriptRename | string)[] = [];
      let fails = true;
      const { scripts, live } = await start(engine, t, {
        references: [
          {
            async rename(_tx, change) {
              calls.push(change);
              if (fails) throw new Error("no");
              return () => void calls.push("announced");
            },
          },
        ],
      });
      const { version } = await scripts.upload(A, "mail", uploadOf("email"), author);
      await assert.rejects(scripts.rename(A, "mail", "post"), /^Error: no$/);
      assert.deepEqual([await scripts.get(A, "post"), await email({ live })], [undefined, version.id]);
      fails = false;
      await scripts.rename(A, "mail", "post");
      const change = { account: A, from: "mail", to: "post" };
      assert.deepEqual(calls, [change, change, "announced"]);
    });
  });
}
