import type { Kysely } from "kysely";
import type { AccountNamespace, ObjectNamespace } from "./port.ts";
import type { ObjectTables } from "./schema.ts";

/** The scripts module owns `worker_scripts`. */
type WithScripts = ObjectTables & {
  worker_scripts: { id: string; account_id: string; name: string; live_deployment_id: string | null };
};
type Tables = Kysely<ObjectTables>;

/** Resolves with the namespaces of one worker, in order of creation. */
export async function listScriptNamespaces(tables: Tables, scriptId: string): Promise<ObjectNamespace[]> {
  const rows = await tables
    .selectFrom("worker_object_namespaces")
    .select(["id", "class_name", "sqlite"])
    .where("script_id", "=", scriptId)
    .orderBy("created_at")
    .orderBy("id")
    .execute();
  return rows.map(namespaceOf);
}

/** Replaces the namespaces of a worker; remaining namespaces keep their ids and creation times. */
export async function replaceNamespaces(
  tables: Tables,
  { id: scriptId, account }: { id: string; account: string },
  namespaces: readonly ObjectNamespace[],
  now: number,
): Promise<void> {
  const previousRows = await tables
    .selectFrom("worker_object_namespaces")
    .select(["id", "created_at"])
    .where("script_id", "=", scriptId)
    .execute();
  const creationTimes = new Map(previousRows.map(({ id, created_at }) => [id, created_at]));
  // Classes may have swapped their names, which are unique, so all rows are rewritten.
  await deleteNamespaces(tables, scriptId);
  for (const { id, className, sqlite } of namespaces)
    await tables
      .insertInto("worker_object_namespaces")
      .values({
        id,
        account_id: account,
        script_id: scriptId,
        class_name: className,
        sqlite: Number(sqlite),
        created_at: creationTimes.get(id) ?? now,
      })
      .execute();
}

export async function deleteNamespaces(tables: Tables, scriptId: string): Promise<void> {
  await tables.deleteFrom("worker_object_namespaces").where("script_id", "=", scriptId).execute();
}

/** Finds the namespace of a class of another worker: by `id` if it is set and exists, otherwise by class name. */
export async function findForeignNamespace(
  tables: Kysely<WithScripts>,
  { account, script, className, id }: { account: string; script: string; className: string; id?: string | undefined },
): Promise<ObjectNamespace | undefined> {
  const rows = await tables
    .selectFrom("worker_object_namespaces as namespaces")
    .innerJoin("worker_scripts as scripts", "scripts.id", "namespaces.script_id")
    .select(["namespaces.id", "namespaces.class_name", "namespaces.sqlite"])
    .where("scripts.account_id", "=", account)
    .where("scripts.name", "=", script)
    .where(({ or, eb }) => or([eb("namespaces.id", "=", id ?? ""), eb("namespaces.class_name", "=", className)]))
    .execute();
  const row =
    rows.find((objectNamespace) => objectNamespace.id === id) ??
    rows.find((objectNamespace) => objectNamespace.class_name === className);
  return row && namespaceOf(row);
}

export async function countNamespaces(tables: Tables, account: string): Promise<number> {
  const { count } = await tables
    .selectFrom("worker_object_namespaces")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("account_id", "=", account)
    .executeTakeFirstOrThrow();
  return Number(count);
}

export async function listNamespaces(
  tables: Kysely<WithScripts>,
  account: string,
  { offset, limit }: { offset: number; limit: number },
): Promise<AccountNamespace[]> {
  const rows = await tables
    .selectFrom("worker_object_namespaces as namespaces")
    .innerJoin("worker_scripts as scripts", "scripts.id", "namespaces.script_id")
    .select(["namespaces.id", "namespaces.class_name", "namespaces.sqlite", "scripts.name"])
    .where("namespaces.account_id", "=", account)
    .orderBy("scripts.name")
    .orderBy("namespaces.class_name")
    .offset(offset)
    .limit(limit)
    .execute();
  return rows.map((row) => ({ ...namespaceOf(row), script: row.name }));
}

/** Resolves with the id of the worker that owns a namespace of the account. */
export async function scriptIdOfNamespace(tables: Tables, account: string, id: string): Promise<string | undefined> {
  const row = await tables
    .selectFrom("worker_object_namespaces")
    .select("script_id")
    .where("account_id", "=", account)
    .where("id", "=", id)
    .executeTakeFirst();
  return row?.script_id;
}

/** A worker with its namespaces. */
interface OwnerRecord {
  scriptId: string;
  account: string;
  script: string;
  /** False if no version is deployed. */
  isLive: boolean;
  namespaces: ObjectNamespace[];
}

/** Lists all workers that have namespaces. */
export async function listOwners(tables: Kysely<WithScripts>): Promise<OwnerRecord[]> {
  const rows = await tables
    .selectFrom("worker_object_namespaces as namespaces")
    .innerJoin("worker_scripts as scripts", "scripts.id", "namespaces.script_id")
    .select([
      "namespaces.id",
      "namespaces.class_name",
      "namespaces.sqlite",
      "namespaces.script_id",
      "scripts.account_id",
      "scripts.name",
      "scripts.live_deployment_id",
    ])
    .execute();
  const owners = new Map<string, OwnerRecord>();
  for (const row of rows) {
    const owner = owners.get(row.script_id) ?? {
      scriptId: row.script_id,
      account: row.account_id,
      script: row.name,
      isLive: row.live_deployment_id !== null,
      namespaces: [],
    };
    owner.namespaces.push(namespaceOf(row));
    owners.set(row.script_id, owner);
  }
  return [...owners.values()];
}

const namespaceOf = (row: { id: string; class_name: string; sqlite: number }): ObjectNamespace => ({
  id: row.id,
  className: row.class_name,
  sqlite: row.sqlite === 1,
});
