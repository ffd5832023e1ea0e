import assert from "node:assert/strict";
import { test } from "node:test";
import { formOf, metadataOf, startWorkersApi, WORKERS } from "./workers.testing.ts";

const SCRIPT = `${WORKERS}/scripts/counters`;
const NAMESPACES = `${WORKERS}/durable_objects/namespaces`;
const code = (...classes: string[]) =>
  `${classes.map((name) => `export class ${name} {}`).join("\n")}\nexport default { fetch: () => new Response("x") };`;
const form = (source: string, more: object) =>
  formOf(metadataOf(more), { "index.js": [source, "application/javascript+module"] });
const COUNTER = { type: "durable_object_namespace", name: "COUNTER", class_name: "Counter" };
const FIRST = { new_tag: "v1", steps: [{ new_sqlite_classes: ["Counter"] }, { new_classes: ["Old"] }] };

test("an upload creates namespaces, which the API lists; the service shows the tag", async (t) => {
  const { ok, call } = await startWorkersApi(t);
  await ok("put", SCRIPT, { body: form(code("Counter", "Old"), { bindings: [COUNTER], migrations: FIRST }) });
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

test("a second upload needs the current tag, and classes must be exported", async (t) => {
  const { ok, refused } = await startWorkersApi(t);
  const migrations = FIRST;
  assert.deepEqual((await refused("put", SCRIPT, { body: form(code("Old"), { migrations }) })).slice(1), [
    10070,
    "Cannot apply new-sqlite-class migration to class 'Counter' that is not exported by script",
  ]);
  await ok("put", SCRIPT, { body: form(code("Counter", "Old"), { migrations }) });
  assert.deepEqual((await refused("put", SCRIPT, { body: form(code("Counter", "Old"), { migrations }) })).slice(1), [
    10079,
    "Migration tag precondition failed; current tag is v1",
  ]);
  assert.equal((await refused("put", SCRIPT, { body: form(code("Counter"), {}) }))[1], 10064);
  const unknown = { ...COUNTER, class_name: "Other" };
  assert.equal(
    (await refused("put", SCRIPT, { body: form(code("Counter", "Old", "Other"), { bindings: [unknown] }) }))[1],
    10061,
  );
  const more = { old_tag: "v1", new_tag: "v2", new_classes: ["More"] };
  assert.equal(
    (
      await refused("post", `${SCRIPT}/versions`, { body: form(code("Counter", "Old", "More"), { migrations: more }) })
    )[1],
    10211,
  );
  await ok("put", SCRIPT, { body: form(code("Counter", "Old", "More"), { migrations: more }) });
});

test("references show which workers bind the classes", async (t) => {
  const { ok } = await startWorkersApi(t);
  await ok("put", SCRIPT, { body: form(code("Counter", "Old"), { migrations: FIRST }) });
  const foreign = { ...COUNTER, script_name: "counters" };
  await ok("put", `${WORKERS}/scripts/caller`, { body: form(code(), { bindings: [foreign] }) });
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
