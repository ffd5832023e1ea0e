import type { Kysely } from "kysely";
import type { Ids, Log } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { ScriptsTables } from "../scripts/schema.ts";
import type { Binding } from "../scripts/script.ts";
import {
  bindOwnAsForeign,
  currentObjectBindings,
  resolveObjectBindings,
  type FindForeignNamespace,
} from "./bindings.ts";
import { objectErrors } from "./errors.ts";
import { deleteNamespaces, findForeignNamespace, listScriptNamespaces, replaceNamespaces } from "./namespaces-table.ts";
import { planObjects, type ObjectPlan } from "./migration-plan.ts";
import type { DurableObjectMigrations, ScriptObjects } from "./port.ts";
import type { ObjectTables } from "./schema.ts";
import type { ObjectStorage } from "./storage.ts";

/** The Durable Objects of scripts, for uploads, deployments and deletions. */
export interface ScriptObjectsStore {
  /** Plans the namespace changes of a new version, and adds namespace ids to its bindings. Throws `objectErrors`. */
  plan(version: NewVersion): Promise<{ plan: ObjectPlan; bindings: Binding[] }>;
  /** Applies the plan in the transaction that stores the version. */
  apply(
    tx: Kysely<ObjectTables>,
    script: { id: string; account: string },
    plan: ObjectPlan,
    now: number,
  ): Promise<void>;
  /**
   * Deletes the stored objects of deleted classes; call after the commit. Logs a failure; the next sweep deletes the
   * remaining files.
   */
  removeDeleted(scriptId: string, plan: ObjectPlan): Promise<void>;
  /**
   * Returns the current bindings of a stored version, and the worker's objects; `objects` is undefined if the worker
   * has none, or if another process runs them.
   */
  resolveVersion(version: {
    account: string;
    scriptId: string;
    script: string;
    bindings: Binding[];
  }): Promise<{ bindings: Binding[]; objects: ScriptObjects | undefined }>;
  /** Throws gradualDeployment, or notConfigured if a version binds a class that no longer exists. */
  checkDeployment(script: { id: string; name: string }, versions: readonly { bindings: Binding[] }[]): Promise<void>;
  /** Deletes the namespaces in the transaction that deletes the worker. */
  deleteAll(tx: Kysely<ObjectTables>, scriptId: string): Promise<void>;
  /** Deletes all stored objects of the worker; call after the commit. */
  removeAll(scriptId: string): Promise<void>;
}

interface NewVersion {
  scriptId: string;
  account: string;
  script: string;
  tag: string;
  bindings: Binding[];
  migrations: DurableObjectMigrations | undefined;
  isDeployed: boolean;
}

interface Deps {
  db: Db;
  ids: Ids;
  log: Log;
  /** Absent in a server that rejects Durable Objects. */
  storage: Pick<ObjectStorage, "remove"> | undefined;
  /** True if another process of this server runs the objects: the worker's own classes are then bound as foreign ones. */
  isRemote?: boolean;
}

export function createScriptObjects({ db, ids, log, storage, isRemote = false }: Deps): ScriptObjectsStore {
  const tables = db.tables<ObjectTables & ScriptsTables>();
  const foreignNamespaceFinder =
    (account: string): FindForeignNamespace =>
    ({ script_name: script, class_name: className, namespace_id: id }) =>
      findForeignNamespace(tables, { account, script, className, id });

  const remove = (scriptId: string, namespaces?: string[]) =>
    storage
      ?.remove(scriptId, namespaces)
      .catch((err: unknown) => log.warn({ err, scriptId }, "durable objects: failed to delete files, will retry"));

  return {
    async plan({ scriptId, account, script, tag, bindings, migrations, isDeployed }) {
      const currentNamespaces = await listScriptNamespaces(tables, scriptId);
      const plan = planObjects({ currentNamespaces, tag, migrations, isDeployed, newId: () => ids.hex() });
      const usesObjects =
        plan.namespaces.length > 0 || bindings.some(({ type }) => type === "durable_object_namespace");
      if (usesObjects && storage === undefined) throw objectErrors.severalMachines();
      const { namespaces, deletedNamespaces } = plan;
      const findForeign = foreignNamespaceFinder(account);
      return {
        plan,
        bindings: await resolveObjectBindings(bindings, { script, namespaces, deletedNamespaces, findForeign }),
      };
    },
    async apply(tx, script, { namespaces, createdClasses, deletedNamespaces }, now) {
      if (createdClasses.size > 0 || deletedNamespaces.length > 0) await replaceNamespaces(tx, script, namespaces, now);
    },
    async removeDeleted(scriptId, { deletedNamespaces }) {
      if (deletedNamespaces.length > 0)
        await remove(
          scriptId,
          deletedNamespaces.map(({ id }) => id),
        );
    },
    async resolveVersion({ account, scriptId, script, bindings }) {
      const namespaces = await listScriptNamespaces(tables, scriptId);
      const currentBindings = await currentObjectBindings(bindings, foreignNamespaceFinder(account));
      if (isRemote)
        return { bindings: bindOwnAsForeign(currentBindings, { scriptId, script, namespaces }), objects: undefined };
      return {
        bindings: currentBindings,
        objects: namespaces.length === 0 ? undefined : { owner: scriptId, namespaces },
      };
    },
    async checkDeployment({ id, name }, versions) {
      const namespaces = await listScriptNamespaces(tables, id);
      if (namespaces.length > 0 && versions.length > 1) throw objectErrors.gradualDeployment({ script: name });
      for (const binding of versions.flatMap(({ bindings }) => bindings)) {
        if (binding.type !== "durable_object_namespace" || binding.script_name !== undefined) continue;
        if (!namespaces.some(({ className }) => className === binding.class_name))
          throw objectErrors.notConfigured({ className: binding.class_name, script: name });
      }
    },
    deleteAll: (tx, scriptId) => deleteNamespaces(tx, scriptId),
    removeAll: async (scriptId) => remove(scriptId),
  };
}
