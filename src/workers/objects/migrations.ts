import { objectErrors } from "./errors.ts";
import { objectLimits } from "./limits.ts";
import type { ObjectMigration, ObjectNamespace } from "./port.ts";

/** The result of applying migrations to the namespaces of a worker. */
export interface MigratedNamespaces {
  namespaces: ObjectNamespace[];
  /** Maps new class names to the name of their migration step, for error messages. */
  createdClasses: Map<string, string>;
  /** Deleted namespaces that existed before, with the class name they had when they were deleted. */
  deletedNamespaces: ObjectNamespace[];
}

/**
 * Applies the steps in order: https://developers.cloudflare.com/durable-objects/reference/durable-objects-migrations/
 *
 * Throws classExists, classMissing, tooManyClasses.
 */
export function migrateNamespaces(
  currentNamespaces: readonly ObjectNamespace[],
  steps: readonly ObjectMigration[],
  newId: (className: string) => string,
): MigratedNamespaces {
  const classes = new Map(currentNamespaces.map((namespace) => [namespace.className, namespace]));
  const existingIds = new Set(currentNamespaces.map(({ id }) => id));
  const createdClasses = new Map<string, string>();
  const deletedNamespaces: ObjectNamespace[] = [];

  function removeClass(className: string, step: string): ObjectNamespace {
    const namespace = classes.get(className);
    if (namespace === undefined) throw objectErrors.classMissing({ step, className });
    classes.delete(className);
    return namespace;
  }
  function addClass(namespace: ObjectNamespace, step: string) {
    const { className } = namespace;
    if (classes.has(className)) throw objectErrors.classExists({ step, className });
    classes.set(className, namespace);
    if (classes.size > objectLimits.classes)
      throw objectErrors.tooManyClasses({ count: classes.size, limit: objectLimits.classes });
  }
  function createClass(className: string, sqlite: boolean) {
    const step = sqlite ? "new-sqlite-class" : "new-class";
    addClass({ id: newId(className), className, sqlite }, step);
    createdClasses.set(className, step);
  }

  for (const { deleted_classes = [], renamed_classes = [], new_classes = [], new_sqlite_classes = [] } of steps) {
    for (const className of deleted_classes) {
      const namespace = removeClass(className, "--delete-class");
      createdClasses.delete(className);
      if (existingIds.has(namespace.id)) deletedNamespaces.push(namespace);
    }
    // Removes all renamed classes first, because classes may swap their names.
    const renamedNamespaces = renamed_classes.map(({ from, to }) => ({
      ...removeClass(from, "rename-class"),
      className: to,
    }));
    for (const namespace of renamedNamespaces) {
      addClass(namespace, "rename-class");
      createdClasses.set(namespace.className, "rename-class");
    }
    for (const className of new_classes) createClass(className, false);
    for (const className of new_sqlite_classes) createClass(className, true);
  }
  return { namespaces: [...classes.values()], createdClasses, deletedNamespaces };
}
