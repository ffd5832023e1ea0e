import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { UserError } from "../../kernel/index.ts";
import { migrateNamespaces } from "./migrations.ts";
import { checkExportedClasses, planObjects } from "./migration-plan.ts";
import type { ObjectMigration, ObjectNamespace } from "./port.ts";

const namespaceOf = (className: string, sqlite = true): ObjectNamespace => ({
  id: `id of ${className}`,
  className,
  sqlite,
});
const migrate = (namespaces: ObjectNamespace[], ...steps: ObjectMigration[]) =>
  migrateNamespaces(namespaces, steps, (className) => `id of ${className}`);
const matchesError = (code: number, message: RegExp) => (thrown: UserError) => {
  assert.match(thrown.message, message);
  assert.equal(thrown.code, code);
  return true;
};

describe("Durable Object migrations", () => {
  test("create classes with and without SQL storage", () => {
    const { namespaces, createdClasses, deletedNamespaces } = migrate([], {
      new_classes: ["A"],
      new_sqlite_classes: ["B"],
    });
    assert.deepEqual(namespaces, [namespaceOf("A", false), namespaceOf("B")]);
    assert.deepEqual([...createdClasses.keys(), ...deletedNamespaces], ["A", "B"]);
  });

  test("keep the id of a renamed class, and can swap the names of two classes", () => {
    const result = migrate([namespaceOf("A"), namespaceOf("B", false)], {
      renamed_classes: [
        { from: "A", to: "B" },
        { from: "B", to: "A" },
      ],
    });
    assert.deepEqual(result.namespaces, [
      { ...namespaceOf("A"), className: "B" },
      { ...namespaceOf("B", false), className: "A" },
    ]);
  });

  test("give a class a new id when it is created again after its deletion", () => {
    let count = 0;
    const { namespaces, deletedNamespaces } = migrateNamespaces(
      [namespaceOf("A")],
      [{ deleted_classes: ["A"] }, { new_sqlite_classes: ["A"] }],
      () => `new ${++count}`,
    );
    assert.deepEqual(namespaces, [{ id: "new 1", className: "A", sqlite: true }]);
    assert.deepEqual(deletedNamespaces, [namespaceOf("A")]);
  });

  test("never create a class that a later step of the same upload deletes", () => {
    const { namespaces, createdClasses, deletedNamespaces } = migrate(
      [],
      { new_classes: ["A"] },
      { deleted_classes: ["A"] },
    );
    assert.deepEqual([namespaces, [...createdClasses], deletedNamespaces], [[], [], []]);
  });

  test("are rejected if they create an existing class or change a missing one", () => {
    assert.throws(
      () => migrate([namespaceOf("A")], { new_sqlite_classes: ["A"] }),
      matchesError(10074, /Cannot apply new-sqlite-class migration to class 'A' that is already depended on/),
    );
    assert.throws(
      () => migrate([], { deleted_classes: ["A"] }),
      matchesError(10074, /--delete-class migration to class 'A'/),
    );
    assert.throws(() => migrate([], { renamed_classes: [{ from: "A", to: "B" }] }), matchesError(10074, /class 'A'/));
    assert.throws(
      () => migrate([namespaceOf("A"), namespaceOf("B")], { renamed_classes: [{ from: "A", to: "B" }] }),
      matchesError(10074, /rename-class migration to class 'B' that is already/),
    );
    const many = Array.from({ length: 501 }, (_, i) => `C${i}`);
    assert.throws(() => migrate([], { new_classes: many }), matchesError(10071, /501 Durable Object classes/));
  });
});

describe("the migrations of an upload", () => {
  const plan = (
    tag: string,
    migrations: { oldTag?: string; newTag?: string; steps: ObjectMigration[] } | undefined,
    isDeployed = true,
  ) =>
    planObjects({
      currentNamespaces: [namespaceOf("A")],
      tag,
      migrations,
      isDeployed,
      newId: (name) => `id of ${name}`,
    });
  const steps = [{ new_sqlite_classes: ["B"] }];

  test("apply if the old tag is the current one", () => {
    assert.equal(plan("v1", { oldTag: "v1", newTag: "v2", steps }).tag, "v2");
    assert.equal(plan("", { newTag: "v1", steps }).tag, "v1");
    assert.equal(plan("v1", { steps }).tag, undefined);
    assert.deepEqual(plan("v1", undefined).namespaces, [namespaceOf("A")]);
  });

  test("are rejected if the old tag is not the current one", () => {
    const wrongTag = matchesError(10079, /Migration tag precondition failed; current tag is v1/);
    assert.throws(() => plan("v1", { oldTag: "v0", newTag: "v2", steps }), wrongTag);
    assert.throws(() => plan("v1", { newTag: "v2", steps }), wrongTag);
  });

  test("are rejected in a version that is not deployed", () => {
    assert.throws(() => plan("", { newTag: "v1", steps }, false), matchesError(10211, /non-versioned deployment/));
    assert.equal(plan("", { newTag: "v1", steps: [] }, false).tag, undefined);
  });

  test("are rejected if the code does not export a class with a namespace", () => {
    const migrationPlan = plan("", { newTag: "v1", steps });
    checkExportedClasses(migrationPlan, ["A", "B"]);
    assert.throws(
      () => checkExportedClasses(migrationPlan, ["A"]),
      matchesError(10070, /^Cannot apply new-sqlite-class migration to class 'B' that is not exported by script$/),
    );
    assert.throws(
      () => checkExportedClasses(migrationPlan, ["B"]),
      matchesError(10064, /does not export class 'A' which is depended on by existing Durable Objects/),
    );
  });
});
