import { createHash } from "node:crypto";
import type { Binding } from "../scripts/script.ts";
import { migrateNamespaces } from "./migrations.ts";
import type { ObjectMigration, ObjectNamespace, ScriptObjects } from "./port.ts";

/** The fields of a worker's configuration that concern Durable Objects. */
interface LocalWorker {
  name: string;
  bindings: readonly Binding[];
  objectMigrations: readonly ObjectMigration[];
}

const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 32);

/**
 * Returns the objects of a worker in development, where all configured migrations are applied at each start. Ids are
 * derived from names, so that stored objects survive restarts and class renames. A class without a migration has no SQL
 * storage. Throws the errors of migrateNamespaces.
 */
export function localObjects({ name, bindings, objectMigrations }: LocalWorker): ScriptObjects | undefined {
  const created = new Map<string, number>();
  const newId = (className: string) => {
    const count = (created.get(className) ?? 0) + 1;
    created.set(className, count);
    // A class that was deleted and created again is a different class with a new id.
    return digest(`${name}\0${className}\0${count}`);
  };
  const { namespaces } = migrateNamespaces([], objectMigrations, newId);
  for (const binding of bindings) {
    if (binding.type !== "durable_object_namespace" || binding.script_name !== undefined) continue;
    const { class_name: className } = binding;
    if (namespaces.some((candidate) => candidate.className === className)) continue;
    namespaces.push({ id: newId(className), className, sqlite: false });
  }
  return namespaces.length === 0 ? undefined : { owner: `dev-${digest(name)}`, namespaces };
}

/** Adds namespace ids to bindings to classes of other workers in the same development server. */
export const localObjectBindings = (
  bindings: readonly Binding[],
  namespacesOf: (worker: string) => readonly ObjectNamespace[],
): Binding[] =>
  bindings.map((binding) => {
    if (binding.type !== "durable_object_namespace" || binding.script_name === undefined) return binding;
    const namespace = namespacesOf(binding.script_name).find(({ className }) => className === binding.class_name);
    return namespace === undefined ? binding : { ...binding, namespace_id: namespace.id };
  });
