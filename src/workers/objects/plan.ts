import { objectErrors } from "./errors.ts";
import { migrateNamespaces, type MigratedNamespaces } from "./migrations.ts";
import type { ObjectMigrations, ObjectNamespace } from "./port.ts";

/** The effect of a new version on the Durable Objects of its worker. */
export interface ObjectPlan extends MigratedNamespaces {
  /** The tag of the worker after the deploy; undefined if it does not change. */
  tag: string | undefined;
}

interface PlanOptions {
  /** The namespaces of the worker before. */
  before: readonly ObjectNamespace[];
  /** The worker's latest migration tag; "" for none. */
  tag: string;
  migrations: ObjectMigrations | undefined;
  /** False for a version that is not deployed immediately. */
  deploys: boolean;
  newId(className: string): string;
}

/** Throws wrongTag, migrationInVersion and the errors of migrateNamespaces. */
export function planObjects({ before, tag, migrations, deploys, newId }: PlanOptions): ObjectPlan {
  if (migrations === undefined) return { ...migrateNamespaces(before, [], newId), tag: undefined };
  const { oldTag = "", newTag, steps } = migrations;
  if (!deploys && steps.length > 0) throw objectErrors.migrationInVersion();
  // Without tags, steps are applied unconditionally.
  if (oldTag !== tag && (oldTag !== "" || newTag !== undefined)) throw objectErrors.wrongTag({ tag });
  return { ...migrateNamespaces(before, steps, newId), tag: deploys ? newTag : undefined };
}

/** Every class with a namespace must be exported. Throws newClassNotExported, notExported. */
export function checkExportedClasses({ namespaces, created }: ObjectPlan, exported: readonly string[]): void {
  for (const { className } of namespaces) {
    if (exported.includes(className)) continue;
    const step = created.get(className);
    throw step === undefined
      ? objectErrors.notExported({ className })
      : objectErrors.newClassNotExported({ className, step });
  }
}
