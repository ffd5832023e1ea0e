import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { randomIds, silentLog } from "../../kernel/index.ts";
import { A, B, code, start } from "../scripts/conformance.testing.ts";
import type { ScriptsTables } from "../scripts/schema.ts";
import type { DurableObjectBinding } from "../scripts/script.ts";
import { author, uploadOf } from "../scripts/scripts.testing.ts";
import { createObjectNamespaces } from "./namespaces.ts";
import { listOwners } from "./namespaces-table.ts";
import type { ObjectTables } from "./schema.ts";
import { createScriptObjects } from "./script-objects.ts";

const PAGE = { page: 1, perPage: 10 };
const bindingOf = (class_name: string, script_name?: string): DurableObjectBinding => ({
  type: "durable_object_namespace",
  name: class_name.toUpperCase(),
  class_name,
  ...(script_name !== undefined && { script_name }),
});
const createMigration = (...new_sqlite_classes: string[]) => ({ newTag: "v1", steps: [{ new_sqlite_classes }] });

/** Tests of Durable Object namespaces for every database engine. */
export function objectsConformance(engine: TestEngine): void {
  describe("Durable Object namespaces", () => {
    async function setUp(t: Parameters<typeof start>[1]) {
      const removals: { owner: string; namespaces?: readonly string[] | undefined }[] = [];
      const storage = {
        remove: async (owner: string, namespaces?: readonly string[]) => void removals.push({ owner, namespaces }),
        list: async () => ({ items: [{ id: "1".repeat(64), hasStoredData: true }], total: 1 }),
      };
      const fixture = await start(engine, t, {
        durableObjects: (db) => createScriptObjects({ db, ids: randomIds, log: silentLog, storage }),
      });
      const namespaces = createObjectNamespaces({ db: fixture.db, storage });
      const list = async (account = A) => (await namespaces.list(account, PAGE)).items;
      return { ...fixture, namespaces, list, removed: removals };
    }

    test("are created by the migrations of a deploy, which resolves its bindings", async (t) => {
      const { scripts, list, fake } = await setUp(t);
      const upload = uploadOf("class Counter", {
        bindings: [bindingOf("Counter")],
        migrations: createMigration("Counter"),
      });
      const { version } = await scripts.upload(A, "w", upload, author);
      const [namespace] = await list();
      assert.deepEqual(namespace, { id: namespace!.id, className: "Counter", sqlite: true, script: "w" });
      assert.deepEqual(version.bindings, [{ ...bindingOf("Counter"), namespace_id: namespace!.id }]);
      assert.equal((await scripts.get(A, "w"))?.migrationTag, "v1");
      assert.deepEqual(await list(B), []);
      assert.ok(
        [...fake.known.keys()].every((key) => !key.endsWith("/trial")),
        "the trial process was removed",
      );
    });

    test("keep their objects and bindings when their worker is renamed, and are not inherited by a new worker of the former name", async (t) => {
      const { scripts, list, db, removed } = await setUp(t);
      const upload = uploadOf("class Counter", {
        bindings: [bindingOf("Counter")],
        migrations: createMigration("Counter"),
      });
      const { script } = await scripts.upload(A, "w", upload, author);
      const caller = await scripts.upload(
        A,
        "caller",
        uploadOf("fetch", { bindings: [bindingOf("Counter", "w")] }),
        author,
      );
      const [before] = await list();
      await scripts.rename(A, "w", "renamed");
      assert.deepEqual(await list(), [{ ...before, script: "renamed" }]);
      assert.deepEqual((await scripts.version(A, "caller", caller.version.id))!.bindings, [
        { ...bindingOf("Counter", "renamed"), namespace_id: before!.id },
      ]);
      assert.deepEqual(
        (await listOwners(db.tables<ObjectTables & ScriptsTables>())).map((owner) => [owner.scriptId, owner.script]),
        [[script.id, "renamed"]],
      );
      await scripts.upload(A, "w", uploadOf("class Counter"), author);
      await assert.rejects(
        scripts.upload(A, "caller", uploadOf("fetch", { bindings: [bindingOf("Counter", "w")] }), author),
        code(10061),
      );
      await scripts.delete(A, "w");
      assert.ok(!removed.some(({ owner }) => owner === script.id));
      assert.equal((await list()).length, 1);
    });

    test("are not created by a failed deploy", async (t) => {
      const { scripts, list } = await setUp(t);
      const migrations = createMigration("Counter");
      await assert.rejects(scripts.upload(A, "w", uploadOf("fetch", { migrations }), author), code(10070));
      await assert.rejects(scripts.upload(A, "w", uploadOf("throws class Counter", { migrations }), author));
      await assert.rejects(
        scripts.upload(A, "w", uploadOf("class Counter", { bindings: [bindingOf("Counter")] }), author),
        code(10061),
      );
      assert.deepEqual(await list(), []);
      assert.equal(await scripts.get(A, "w"), undefined);
    });

    test("survive the rename of their class, and bindings of other workers use the new name", async (t) => {
      const { scripts, list, another, db } = await setUp(t);
      await scripts.upload(A, "w", uploadOf("class Old", { migrations: createMigration("Old") }), author);
      const { version } = await scripts.upload(
        A,
        "caller",
        uploadOf("email", { bindings: [bindingOf("Old", "w")] }),
        author,
      );
      const [{ id } = { id: "" }] = await list();
      assert.deepEqual(version.bindings, [{ ...bindingOf("Old", "w"), namespace_id: id }]);
      const renamed = { oldTag: "v1", newTag: "v2", steps: [{ renamed_classes: [{ from: "Old", to: "New" }] }] };
      await assert.rejects(
        scripts.upload(A, "w", uploadOf("class New", { migrations: { ...renamed, oldTag: "v0" } }), author),
        code(10079),
      );
      await scripts.upload(A, "w", uploadOf("class New", { migrations: renamed }), author);
      assert.deepEqual(await list(), [{ id, className: "New", sqlite: true, script: "w" }]);
      const { live, fake } = another(db);
      await live.wake({ account: A, script: "caller" });
      const caller = [...fake.known.values()].find(({ name }) => name === "caller");
      const script_id = (await scripts.get(A, "w"))!.id;
      assert.deepEqual(caller?.bindings, [{ ...bindingOf("New", "w"), name: "OLD", namespace_id: id, script_id }]);
    });

    test("cannot be deleted while bound, and lose their files after the deploy that deletes the class", async (t) => {
      const { scripts, list, removed } = await setUp(t);
      const firstUpload = uploadOf("class Counter", {
        bindings: [bindingOf("Counter")],
        migrations: createMigration("Counter"),
      });
      const { script } = await scripts.upload(A, "w", firstUpload, author);
      const [{ id } = { id: "" }] = await list();
      const migrations = { oldTag: "v1", newTag: "v2", steps: [{ deleted_classes: ["Counter"] }] };
      await assert.rejects(scripts.upload(A, "w", uploadOf("fetch"), author), code(10064));
      await assert.rejects(
        scripts.upload(A, "w", uploadOf("fetch", { bindings: [bindingOf("Counter")], migrations }), author),
        code(10061),
      );
      await scripts.upload(A, "w", uploadOf("fetch", { migrations }), author);
      assert.deepEqual([await list(), removed], [[], [{ owner: script.id, namespaces: [id] }]]);
    });

    test("a version cannot contain a migration, and several versions cannot be deployed together", async (t) => {
      const { scripts } = await setUp(t);
      const { version } = await scripts.upload(
        A,
        "w",
        uploadOf("class Counter", { bindings: [bindingOf("Counter")], migrations: createMigration("Counter") }),
        author,
      );
      const secondMigration = { oldTag: "v1", newTag: "v2", steps: [{ new_sqlite_classes: ["B"] }] };
      await assert.rejects(
        scripts.createVersion(A, "w", uploadOf("class Counter class B", { migrations: secondMigration }), author),
        code(10211),
      );
      const second = await scripts.createVersion(A, "w", uploadOf("class Counter"), author);
      const split = [version.id, second.id].map((versionId) => ({ versionId, percentage: 50 }));
      await assert.rejects(scripts.deploy(A, "w", { versions: split }, author), code(10021));
      await scripts.deploy(A, "w", { versions: [{ versionId: second.id, percentage: 100 }] }, author);
    });

    test("a version whose classes no longer exist cannot be deployed", async (t) => {
      const { scripts } = await setUp(t);
      const first = uploadOf("class Counter", {
        bindings: [bindingOf("Counter")],
        migrations: createMigration("Counter"),
      });
      const { version } = await scripts.upload(A, "w", first, author);
      const migrations = { oldTag: "v1", newTag: "v2", steps: [{ deleted_classes: ["Counter"] }] };
      await scripts.upload(A, "w", uploadOf("fetch", { migrations }), author);
      const rollback = { versions: [{ versionId: version.id, percentage: 100 }] };
      await assert.rejects(scripts.deploy(A, "w", rollback, author), code(10061));
    });

    test("are deleted with their worker, including their files", async (t) => {
      const { scripts, list, removed, db } = await setUp(t);
      const { script } = await scripts.upload(
        A,
        "w",
        uploadOf("class C", { migrations: createMigration("C") }),
        author,
      );
      const tables = db.tables<ObjectTables & ScriptsTables>();
      assert.deepEqual(
        (await listOwners(tables)).map(({ scriptId, script: name, isLive }) => [scriptId, name, isLive]),
        [[script.id, "w", true]],
      );
      await scripts.delete(A, "w");
      assert.deepEqual([await list(), removed], [[], [{ owner: script.id, namespaces: undefined }]]);
    });

    test("the objects of a namespace are listed only for its own account", async (t) => {
      const { scripts, list, namespaces } = await setUp(t);
      await scripts.upload(A, "w", uploadOf("class C", { migrations: createMigration("C") }), author);
      const [{ id } = { id: "" }] = await list();
      assert.equal((await namespaces.objects(A, id, { limit: 1 })).total, 1);
      await assert.rejects(namespaces.objects(B, id, { limit: 1 }), code(10066));
    });

    test("a server with several processes rejects Durable Objects", async (t) => {
      const { scripts } = await start(engine, t);
      const upload = uploadOf("class C", { migrations: createMigration("C") });
      await assert.rejects(scripts.upload(A, "w", upload, author), code(10021));
    });
  });
}
