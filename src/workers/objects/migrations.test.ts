import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { UserError } from "../../kernel/index.ts";
import { migrateNamespaces } from "./migrations.ts";
import { checkExportedClasses, planObjects } from "./plan.ts";
import type { ObjectMigration, ObjectNamespace } from "./port.ts";

const stored = (className: string, sqlite = true): ObjectNamespace => ({ id: `id of ${className}`, className, sqlite });
const migrate = (before: ObjectNamespace[], ...steps: ObjectMigration[]) =>
  migrateNamespaces(before, steps, (className) => `id of ${className}`);
const error = (code: number, message: RegExp) => (thrown: UserError) => {
  assert.match(thrown.message, message);
  assert.equal(thrown.code, code);
  return true;
};

describe("migrations of Durable Object classes", () => {
  test("create classes with and without SQL", () => {
    const { namespaces, created, deleted } = migrate([], { new_classes: ["A"], new_sqlite_classes: ["B"] });
    assert.deepEqual(namespaces, [stored("A", false), stored("B")]);
    assert.deepEqual([...created.keys(), ...deleted], ["A", "B"]);
  });

  test("a renamed class keeps its id, and two classes can swap their names", () => {
    const swapped = migrate([stored("A"), stored("B", false)], {
      renamed_classes: [
        { from: "A", to: "B" },
        { from: "B", to: "A" },
      ],
    });
    assert.deepEqual(swapped.namespaces, [
      { ...stored("A"), className: "B" },
      { ...stored("B", false), className: "A" },
    ]);
  });

  test("a class that is created again after its deletion is another one", () => {
    let count = 0;
    const { namespaces, deleted } = migrateNamespaces(
      [stored("A")],
      [{ deleted_classes: ["A"] }, { new_sqlite_classes: ["A"] }],
      () => `new ${++count}`,
    );
    assert.deepEqual(namespaces, [{ id: "new 1", className: "A", sqlite: true }]);
    assert.deepEqual(deleted, [stored("A")]);
  });

  test("a class that a later step of the same upload deletes never exists", () => {
    const { namespaces, created, deleted } = migrate([], { new_classes: ["A"] }, { deleted_classes: ["A"] });
    assert.deepEqual([namespaces, [...created], deleted], [[], [], []]);
  });

  test("rejects classes that exist already or do not exist", () => {
    assert.throws(
      () => migrate([stored("A")], { new_sqlite_classes: ["A"] }),
      error(10074, /Cannot apply new-sqlite-class migration to class 'A' that is already depended on/),
    );
    assert.throws(() => migrate([], { deleted_classes: ["A"] }), error(10074, /--delete-class migration to class 'A'/));
    assert.throws(() => migrate([], { renamed_classes: [{ from: "A", to: "B" }] }), error(10074, /class 'A'/));
    assert.throws(
      () => migrate([stored("A"), stored("B")], { renamed_classes: [{ from: "A", to: "B" }] }),
      error(10074, /rename-class migration to class 'B' that is already/),
    );
    const many = Array.from({ length: 501 }, (_, i) => `C${i}`);
    assert.throws(() => migrate([], { new_classes: many }), error(10071, /501 Durable Object classes/));
  });
});

describe("the migrations of an upload", () => {
  const plan = (
    tag: string,
    migrations: { oldTag?: string; newTag?: string; steps: ObjectMigration[] } | undefined,
    deploys = true,
  ) => planObjects({ before: [stored("A")], tag, migrations, deploys, newId: (name) => `id of ${name}` });
  const steps = [{ new_sqlite_classes: ["B"] }];

  test("apply if the old tag is the current one", () => {
    assert.equal(plan("v1", { oldTag: "v1", newTag: "v2", steps }).tag, "v2");
    assert.equal(plan("", { newTag: "v1", steps }).tag, "v1");
    assert.equal(plan("v1", { steps }).tag, undefined);
    assert.deepEqual(plan("v1", undefined).namespaces, [stored("A")]);
  });

  test("are rejected if the current tag is another one", () => {
    const wrong = error(10079, /Migration tag precondition failed; current tag is v1/);
    assert.throws(() => plan("v1", { oldTag: "v0", newTag: "v2", steps }), wrong);
    assert.throws(() => plan("v1", { newTag: "v2", steps }), wrong);
  });

  test("are rejected in a version that is not deployed", () => {
    assert.throws(() => plan("", { newTag: "v1", steps }, false), error(10211, /non-versioned deployment/));
    assert.equal(plan("", { newTag: "v1", steps: [] }, false).tag, undefined);
  });

  test("need exported classes", () => {
    const planned = plan("", { newTag: "v1", steps });
    checkExportedClasses(planned, ["A", "B"]);
    assert.throws(
      () => checkExportedClasses(planned, ["A"]),
      error(10070, /^Cannot apply new-sqlite-class migration to class 'B' that is not exported by script$/),
    );
    assert.throws(
      () => checkExportedClasses(planned, ["B"]),
      error(10064, /does not export class 'A' which is depended on by existing Durable Objects/),
    );
  });
});
