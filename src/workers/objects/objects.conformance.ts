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
const bound = (class_name: string, script_name?: string): DurableObjectBinding => ({
  type: "durable_object_namespace",
  name: class_name.toUpperCase(),
  class_name,
  ...(script_name !== undefined && { script_name }),
});
const created = (...new_sqlite_classes: string[]) => ({ newTag: "v1", steps: [{ new_sqlite_classes }] });

/** Namespaces of Durable Objects on every database engine. */
export function objectsConformance(engine: TestEngine): void {
  describe("namespaces of Durable Objects", () => {
    async function setUp(t: Parameters<typeof start>[1]) {
      const removed: { owner: string; namespaces?: readonly string[] | undefined }[] = [];
      const storage = {
        remove: async (owner: string, namespaces?: readonly string[]) => void removed.push({ owner, namespaces }),
        list: async () => ({ items: [{ id: "1".repeat(64), hasStoredData: true }], total: 1 }),
      };
      const fixture = await start(engine, t, {
        durableObjects: (db) => createScriptObjects({ db, ids: randomIds, log: silentLog, storage }),
      });
      const namespaces = createObjectNamespaces({ db: fixture.db, storage });
      const list = async (account = A) => (await namespaces.list(account, PAGE)).items;
      return { ...fixture, namespaces, list, removed };
    }

    test("a deploy creates the classes of its migrations and resolves its bindings", async (t) => {
      const { scripts, list, fake } = await setUp(t);
      const upload = uploadOf("class Counter", { bindings: [bound("Counter")], migrations: created("Counter") });
      const { version } = await scripts.upload(A, "w", upload, author);
      const [namespace] = await list();
      assert.deepEqual(namespace, { id: namespace!.id, className: "Counter", sqlite: true, script: "w" });
      assert.deepEqual(version.bindings, [{ ...bound("Counter"), namespace_id: namespace!.id }]);
      assert.equal((await scripts.get(A, "w"))?.migrationTag, "v1");
      assert.deepEqual(await list(B), []);
      assert.ok(
        [...fake.known.keys()].every((key) => !key.endsWith("/trial")),
        "the trial does not remain",
      );
    });

    test("a deploy that fails creates nothing", async (t) => {
      const { scripts, list } = await setUp(t);
      const migrations = created("Counter");
      await assert.rejects(scripts.upload(A, "w", uploadOf("fetch", { migrations }), author), code(10070));
      await assert.rejects(scripts.upload(A, "w", uploadOf("throws class Counter", { migrations }), author));
      await assert.rejects(
        scripts.upload(A, "w", uploadOf("class Counter", { bindings: [bound("Counter")] }), author),
        code(10061),
      );
      assert.deepEqual(await list(), []);
      assert.equal(await scripts.get(A, "w"), undefined);
    });

    test("a renamed class keeps its namespace; bindings of other workers follow it", async (t) => {
      const { scripts, list, another, db } = await setUp(t);
      await scripts.upload(A, "w", uploadOf("class Old", { migrations: created("Old") }), author);
      const { version } = await scripts.upload(
        A,
        "caller",
        uploadOf("email", { bindings: [bound("Old", "w")] }),
        author,
      );
      const [{ id } = { id: "" }] = await list();
      assert.deepEqual(version.bindings, [{ ...bound("Old", "w"), namespace_id: id }]);
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
      assert.deepEqual(caller?.bindings, [{ ...bound("New", "w"), name: "OLD", namespace_id: id }]);
    });

    test("a deleted class must not be bound; its files are deleted after the deploy", async (t) => {
      const { scripts, list, removed } = await setUp(t);
      const first = uploadOf("class Counter", { bindings: [bound("Counter")], migrations: created("Counter") });
      const { script } = await scripts.upload(A, "w", first, author);
      const [{ id } = { id: "" }] = await list();
      const migrations = { oldTag: "v1", newTag: "v2", steps: [{ deleted_classes: ["Counter"] }] };
      await assert.rejects(scripts.upload(A, "w", uploadOf("fetch"), author), code(10064));
      await assert.rejects(
        scripts.upload(A, "w", uploadOf("fetch", { bindings: [bound("Counter")], migrations }), author),
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
        uploadOf("class Counter", { bindings: [bound("Counter")], migrations: created("Counter") }),
        author,
      );
      const more = { oldTag: "v1", newTag: "v2", steps: [{ new_sqlite_classes: ["B"] }] };
      await assert.rejects(
        scripts.createVersion(A, "w", uploadOf("class Counter class B", { migrations: more }), author),
        code(10211),
      );
      const second = await scripts.createVersion(A, "w", uploadOf("class Counter"), author);
      const split = [version.id, second.id].map((versionId) => ({ versionId, percentage: 50 }));
      await assert.rejects(scripts.deploy(A, "w", { versions: split }, author), code(10021));
      await scripts.deploy(A, "w", { versions: [{ versionId: second.id, percentage: 100 }] }, author);
    });

    test("a version whose classes no longer exist cannot be deployed", async (t) => {
      const { scripts } = await setUp(t);
      const first = uploadOf("class Counter", { bindings: [bound("Counter")], migrations: created("Counter") });
      const { version } = await scripts.upload(A, "w", first, author);
      const migrations = { oldTag: "v1", newTag: "v2", steps: [{ deleted_classes: ["Counter"] }] };
      await scripts.upload(A, "w", uploadOf("fetch", { migrations }), author);
      const back = { versions: [{ versionId: version.id, percentage: 100 }] };
      await assert.rejects(scripts.deploy(A, "w", back, author), code(10061));
    });

    test("deleting a worker deletes its namespaces and files", async (t) => {
      const { scripts, list, removed, db } = await setUp(t);
      const { script } = await scripts.upload(A, "w", uploadOf("class C", { migrations: created("C") }), author);
      const tables = db.tables<ObjectTables & ScriptsTables>();
      assert.deepEqual(
        (await listOwners(tables)).map(({ scriptId, script: name, isLive }) => [scriptId, name, isLive]),
        [[script.id, "w", true]],
      );
      await scripts.delete(A, "w");
      assert.deepEqual([await list(), removed], [[], [{ owner: script.id, namespaces: undefined }]]);
    });

    test("lists the objects of a namespace of the account", async (t) => {
      const { scripts, list, namespaces } = await setUp(t);
      await scripts.upload(A, "w", uploadOf("class C", { migrations: created("C") }), author);
      const [{ id } = { id: "" }] = await list();
      assert.equal((await namespaces.objects(A, id, { limit: 1 })).total, 1);
      await assert.rejects(namespaces.objects(B, id, { limit: 1 }), code(10066));
    });

    test("are refused by a server with several processes", async (t) => {
      const { scripts } = await start(engine, t);
      const upload = uploadOf("class C", { migrations: created("C") });
      await assert.rejects(scripts.upload(A, "w", upload, author), code(10021));
    });
  });
}
