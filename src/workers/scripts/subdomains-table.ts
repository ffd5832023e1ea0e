import type { ScriptRef } from "./port.ts";
import type { Tables } from "./scripts-table.ts";

export async function findSubdomain(tables: Tables, account: string): Promise<string | undefined> {
  return (await tables.selectFrom("worker_subdomains").select("label").where("account_id", "=", account).executeTakeFirst())?.label;
}

/** Throws a unique violation when another account has this label. */
export async function putSubdomain(tables: Tables, account: string, label: string): Promise<void> {
  await tables.insertInto("worker_subdomains").values({ account_id: account, label }).onConflict((on) => on.column("account_id").doUpdateSet({ label })).execute();
}

/** Leaves what is there. */
export async function addSubdomain(tables: Tables, account: string, label: string): Promise<void> {
  await tables.insertInto("worker_subdomains").values({ account_id: account, label }).onConflict((on) => on.doNothing()).execute();
}

export async function findBySubdomain(tables: Tables, label: string, name: string): Promise<ScriptRef | undefined> {
  const row = await tables.selectFrom("worker_subdomains").innerJoin("worker_scripts", "worker_scripts.account_id", "worker_subdomains.account_id")
    .select("worker_scripts.account_id")
    .where("worker_subdomains.label", "=", label).where("worker_scripts.name", "=", name).where("worker_scripts.subdomain_enabled", "=", 1)
    .executeTakeFirst();
  return row && { account: row.account_id, script: name };
}
