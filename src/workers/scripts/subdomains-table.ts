import { prepareQuery } from "../../store/index.ts";
import type { ScriptRef } from "./port.ts";
import type { Tables } from "./scripts-table.ts";

export async function findSubdomain(tables: Tables, account: string): Promise<string | undefined> {
  return (
    await tables.selectFrom("worker_subdomains").select("label").where("account_id", "=", account).executeTakeFirst()
  )?.label;
}

/** Throws a unique violation if another account has this label. */
export async function putSubdomain(tables: Tables, account: string, label: string): Promise<void> {
  await tables
    .insertInto("worker_subdomains")
    .values({ account_id: account, label })
    .onConflict((on) => on.column("account_id").doUpdateSet({ label }))
    .execute();
}

/** Adds the label of an account; does not change an existing row. */
export async function addSubdomain(tables: Tables, account: string, label: string): Promise<void> {
  await tables
    .insertInto("worker_subdomains")
    .values({ account_id: account, label })
    .onConflict((on) => on.doNothing())
    .execute();
}

export async function removeSubdomain(tables: Tables, account: string): Promise<void> {
  await tables.deleteFrom("worker_subdomains").where("account_id", "=", account).execute();
}

/**
 * Creates the lookup of a worker by its host name. The lookup runs for every request that specifies a worker by its
 * host.
 */
export function subdomainReader(tables: Tables): (label: string, name: string) => Promise<ScriptRef | undefined> {
  const find = prepareQuery((arg) =>
    tables
      .selectFrom("worker_subdomains")
      .innerJoin("worker_scripts", "worker_scripts.account_id", "worker_subdomains.account_id")
      .select("worker_scripts.account_id")
      .where("worker_subdomains.label", "=", arg<string>("label"))
      .where("worker_scripts.name", "=", arg<string>("name"))
      .where("worker_scripts.subdomain_enabled", "=", 1),
  );
  return async (label, name) => {
    const [row] = (await tables.executeQuery(find({ label, name }).compile())).rows;
    return row && { account: row.account_id, script: name };
  };
}
