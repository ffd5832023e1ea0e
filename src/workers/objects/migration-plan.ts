import { objectErrors } from "./errors.ts";
import { migrateNamespaces, type MigratedNamespaces } from "./migrations.ts";
import type { DurableObjectMigrations, ObjectNamespace } from "./port.ts";

/** The changes that a new version makes to the Durable Object namespaces of its worker. */
export interface ObjectPlan extends MigratedNamespaces {
  /** The worker's new migration tag; undefined if the tag does not change. */
  tag: string | undefined;
}

interface PlanOptions {
  /** The namespaces of the worker before the upload. */
  currentNamespaces: readonly ObjectNamespace[];
  /** The worker's current migration tag; empty before the first migration. */
  tag: string;
  migrations: DurableObjectMigrations | undefined;
  /** False for a version that is not deployed immediately. */
  isDeployed: boolean;
  newId(className: string): string;
}

/** Throws wrongTag, migrationInVersion and the errors of migrateNamespaces. */
export function planObjects({ currentNamespaces, tag, migrations, isDeployed, newId }: PlanOptions): ObjectPlan {
  if (migrations === undefined) return { ...migrateNamespaces(currentNamespaces, [], newId), tag: undefined };
  const { oldTag = "", newTag, steps } = migrations;
  if (!isDeployed && steps.length > 0) throw objectErrors.migrationInVersion();
  // If the upload has no tags, its steps are applied unconditionally.
  if (oldTag !== tag && (oldTag !== "" || newTag !== undefined)) throw objectErrors.wrongTag({ tag });
  return { ...migrateNamespaces(currentNamespaces, steps, newId), tag: isDeployed ? newTag : undefined };
}

/** Checks that every class with a namespace is exported. Throws newClassNotExported, notExported. */
export function checkExportedClasses(
  { namespaces, createdClasses }: ObjectPlan,
  exportedClasses: readonly string[],
): void {
  for (const { className } of namespaces) {
    if (exportedClasses.includes(className)) continue;
    const step = createdClasses.get(className);
    throw step === undefined
      ? objectErrors.notExported({ className })
      : objectErrors.newClassNotExported({ className, step });
  }
}
