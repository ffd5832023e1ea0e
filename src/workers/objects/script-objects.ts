import type { Kysely } from "kysely";
import type { Ids, Log } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { ScriptsTables } from "../scripts/schema.ts";
import type { Binding } from "../scripts/script.ts";
import { currentObjectBindings, resolveObjectBindings, type FindForeign } from "./bindings.ts";
import { objectErrors } from "./errors.ts";
import { deleteNamespaces, findForeignNamespace, namespacesOf, replaceNamespaces } from "./namespaces-table.ts";
import { planObjects, type ObjectPlan } from "./plan.ts";
import type { ObjectMigrations, ScriptObjects } from "./port.ts";
import type { ObjectTables } from "./schema.ts";
import type { ObjectStorage } from "./storage.ts";

/** The Durable Objects of scripts, for uploads, deployments and deletions. */
export interface ScriptObjectsStore {
  /**
   * The effect of a new version, and its bindings with the ids of their namespaces. Throws `objectErrors`.
   */
  plan(version: NewVersion): Promise<{ plan: ObjectPlan; bindings: Binding[] }>;
  /** Carries out the plan in the transaction that stores the version. */
  apply(
    tx: Kysely<ObjectTables>,
    script: { id: string; account: string },
    plan: ObjectPlan,
    now: number,
  ): Promise<void>;
  /** After the commit: deletes the stored objects of deleted classes. A failure is logged, and the sweep retries. */
  removeDeleted(scriptId: string, plan: ObjectPlan): Promise<void>;
  /** The bindings of a stored version as they are now, and the worker's objects; undefined if it has none. */
  of(version: {
    account: string;
    scriptId: string;
    bindings: Binding[];
  }): Promise<{ bindings: Binding[]; objects: ScriptObjects | undefined }>;
  /** Throws gradual, and notConfigured if a version binds a class that no longer exists. */
  checkDeployment(script: { id: string; name: string }, versions: readonly { bindings: Binding[] }[]): Promise<void>;
  /** Deletes the namespaces in the transaction that deletes the worker. */
  deleteAll(tx: Kysely<ObjectTables>, scriptId: string): Promise<void>;
  /** After the commit: deletes all stored objects of the worker. */
  removeAll(scriptId: string): Promise<void>;
}

interface NewVersion {
  scriptId: string;
  account: string;
  script: string;
  tag: string;
  bindings: Binding[];
  migrations: ObjectMigrations | undefined;
  deploys: boolean;
}

interface Deps {
  db: Db;
  ids: Ids;
  log: Log;
  /** Absent in a server with several processes: Durable Objects are refused. */
  storage: Pick<ObjectStorage, "remove"> | undefined;
}

export function createScriptObjects({ db, ids, log, storage }: Deps): ScriptObjectsStore {
  const tables = db.tables<ObjectTables & ScriptsTables>();
  const findForeignIn =
    (account: string): FindForeign =>
    ({ script_name: script, class_name: className, namespace_id: id }) =>
      findForeignNamespace(tables, { account, script, className, id });

  const remove = (scriptId: string, namespaces?: string[]) =>
    storage
      ?.remove(scriptId, namespaces)
      .catch((err: unknown) => log.warn({ err, scriptId }, "durable objects: failed to delete files, will retry"));

  return {
    async plan({ scriptId, account, script, tag, bindings, migrations, deploys }) {
      const before = await namespacesOf(tables, scriptId);
      const plan = planObjects({ before, tag, migrations, deploys, newId: () => ids.hex() });
      const uses = plan.namespaces.length > 0 || bindings.some(({ type }) => type === "durable_object_namespace");
      if (uses && storage === undefined) throw objectErrors.severalMachines();
      const { namespaces, deleted } = plan;
      const findForeign = findForeignIn(account);
      return { plan, bindings: await resolveObjectBindings(bindings, { script, namespaces, deleted, findForeign }) };
    },
    async apply(tx, script, { namespaces, created, deleted }, now) {
      if (created.size > 0 || deleted.length > 0) await replaceNamespaces(tx, script, namespaces, now);
    },
    async removeDeleted(scriptId, { deleted }) {
      if (deleted.length > 0)
        await remove(
          scriptId,
          deleted.map(({ id }) => id),
        );
    },
    async of({ account, scriptId, bindings }) {
      const namespaces = await namespacesOf(tables, scriptId);
      return {
        bindings: await currentObjectBindings(bindings, findForeignIn(account)),
        objects: namespaces.length === 0 ? undefined : { owner: scriptId, namespaces },
      };
    },
    async checkDeployment({ id, name }, versions) {
      const namespaces = await namespacesOf(tables, id);
      if (namespaces.length > 0 && versions.length > 1) throw objectErrors.gradual({ script: name });
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
