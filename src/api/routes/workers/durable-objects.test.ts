import assert from "node:assert/strict";
import { test } from "node:test";
import { formOf, metadataOf, startWorkersApi, WORKERS } from "./workers.testing.ts";

const SCRIPT = `${WORKERS}/scripts/counters`;
const NAMESPACES = `${WORKERS}/durable_objects/namespaces`;
const classModule = (...classes: string[]) =>
  `${classes.map((name) => `export class ${name} {}`).join("\n")}\nexport default { fetch: () => new Response("x") };`;
const uploadForm = (source: string, metadata: object) =>
  formOf(metadataOf(metadata), { "index.js": [source, "application/javascript+module"] });
const COUNTER = { type: "durable_object_namespace", name: "COUNTER", class_name: "Counter" };
const FIRST_MIGRATION = { new_tag: "v1", steps: [{ new_sqlite_classes: ["Counter"] }, { new_classes: ["Old"] }] };

test("an upload creates namespaces, which the API lists, and the service returns the migration tag", async (t) => {
  const { ok, call } = await startWorkersApi(t);
  await ok("put", SCRIPT, {
    body: uploadForm(classModule("Counter", "Old"), { bindings: [COUNTER], migrations: FIRST_MIGRATION }),
  });
  const { body } = await call("get", NAMESPACES, { query: { per_page: 1 } });
  const [first] = body.result;
  assert.deepEqual(first, {
    id: first.id,
    name: "counters_Counter",
    script: "counters",
    class: "Counter",
    use_sqlite: true,
  });
  assert.deepEqual(body.result_info, { page: 1, per_page: 1, count: 1, total_count: 2, total_pages: 2 });
  assert.equal((await ok("get", `${WORKERS}/services/counters`)).default_environment.script.migration_tag, "v1");
  assert.deepEqual((await ok("get", `${SCRIPT}/settings`)).bindings, [{ ...COUNTER, namespace_id: first.id }]);

  const objects = await call("get", `${NAMESPACES}/${first.id}/objects`, { query: { limit: 10 } });
  assert.deepEqual(objects.body.result, []);
  assert.deepEqual(objects.body.result_info.cursors, { after: "" });
  assert.deepEqual((await call("get", `${NAMESPACES}/${"0".repeat(32)}/objects`)).body.errors[0].code, 10066);
});

test("a later upload must specify the current migration tag and export all classes", async (t) => {
  const { ok, refused } = await startWorkersApi(t);
  const migrations = FIRST_MIGRATION;
  assert.deepEqual((await refused("put", SCRIPT, { body: uploadForm(classModule("Old"), { migrations }) })).slice(1), [
    10070,
    "Cannot apply new-sqlite-class migration to class 'Counter' that is not exported by script",
  ]);
  await ok("put", SCRIPT, { body: uploadForm(classModule("Counter", "Old"), { migrations }) });
  assert.deepEqual(
    (await refused("put", SCRIPT, { body: uploadForm(classModule("Counter", "Old"), { migrations }) })).slice(1),
    [10079, "Migration tag precondition failed; current tag is v1"],
  );
  assert.equal((await refused("put", SCRIPT, { body: uploadForm(classModule("Counter"), {}) }))[1], 10064);
  const unknownClass = { ...COUNTER, class_name: "Other" };
  assert.equal(
    (
      await refused("put", SCRIPT, {
        body: uploadForm(classModule("Counter", "Old", "Other"), { bindings: [unknownClass] }),
      })
    )[1],
    10061,
  );
  const secondMigration = { old_tag: "v1", new_tag: "v2", new_classes: ["More"] };
  assert.equal(
    (
      await refused("post", `${SCRIPT}/versions`, {
        body: uploadForm(classModule("Counter", "Old", "More"), { migrations: secondMigration }),
      })
    )[1],
    10211,
  );
  await ok("put", SCRIPT, { body: uploadForm(classModule("Counter", "Old", "More"), { migrations: secondMigration }) });
});

test("lists as references the workers that bind the classes", async (t) => {
  const { ok } = await startWorkersApi(t);
  await ok("put", SCRIPT, { body: uploadForm(classModule("Counter", "Old"), { migrations: FIRST_MIGRATION }) });
  const foreignBinding = { ...COUNTER, script_name: "counters" };
  await ok("put", `${WORKERS}/scripts/caller`, { body: uploadForm(classModule(), { bindings: [foreignBinding] }) });
  const [{ id }] = await ok("get", NAMESPACES);
  assert.deepEqual((await ok("get", `${SCRIPT}/references`)).durable_objects, [
    {
      service: "caller",
      environment: "production",
      durable_object_namespace_id: id,
      durable_object_namespace_name: "counters_Counter",
    },
  ]);
  await ok("delete", `${WORKERS}/services/counters`, { query: { force: "true" } });
  assert.deepEqual(await ok("get", NAMESPACES), []);
});
