import { objectErrors } from "./errors.ts";
import { objectLimits } from "./limits.ts";
import type { ObjectMigration, ObjectNamespace } from "./port.ts";

/** The namespaces of a worker after some migrations. */
export interface MigratedNamespaces {
  namespaces: ObjectNamespace[];
  /** Classes that did not exist before, with the name of their step in error messages. */
  created: Map<string, string>;
  /** Classes that existed before and were deleted, under their name at that time. */
  deleted: ObjectNamespace[];
}

/**
 * Applies the steps in order: https://developers.cloudflare.com/durable-objects/reference/durable-objects-migrations/
 *
 * Throws classExists, classMissing, tooManyClasses.
 */
export function migrateNamespaces(
  before: readonly ObjectNamespace[],
  steps: readonly ObjectMigration[],
  newId: (className: string) => string,
): MigratedNamespaces {
  const classes = new Map(before.map((namespace) => [namespace.className, namespace]));
  const existing = new Set(before.map(({ id }) => id));
  const created = new Map<string, string>();
  const deleted: ObjectNamespace[] = [];

  function take(className: string, step: string): ObjectNamespace {
    const found = classes.get(className);
    if (found === undefined) throw objectErrors.classMissing({ step, className });
    classes.delete(className);
    return found;
  }
  function put(namespace: ObjectNamespace, step: string) {
    const { className } = namespace;
    if (classes.has(className)) throw objectErrors.classExists({ step, className });
    classes.set(className, namespace);
    if (classes.size > objectLimits.classes)
      throw objectErrors.tooManyClasses({ count: classes.size, limit: objectLimits.classes });
  }
  function create(className: string, sqlite: boolean) {
    const step = sqlite ? "new-sqlite-class" : "new-class";
    put({ id: newId(className), className, sqlite }, step);
    created.set(className, step);
  }

  for (const { deleted_classes = [], renamed_classes = [], new_classes = [], new_sqlite_classes = [] } of steps) {
    for (const className of deleted_classes) {
      const namespace = take(className, "--delete-class");
      created.delete(className);
      if (existing.has(namespace.id)) deleted.push(namespace);
    }
    // First all of them are taken: classes may swap their names.
    const renamed = renamed_classes.map(({ from, to }) => ({ ...take(from, "rename-class"), className: to }));
    for (const namespace of renamed) {
      put(namespace, "rename-class");
      created.set(namespace.className, "rename-class");
    }
    for (const className of new_classes) create(className, false);
    for (const className of new_sqlite_classes) create(className, true);
  }
  return { namespaces: [...classes.values()], created, deleted };
}
