import { sql } from "kysely";
import type { ScriptSettings } from "./port.ts";
import type { ScriptRename } from "./references.ts";
import type { Binding } from "./script.ts";
import type { Tables } from "./scripts-table.ts";

/**
 * Replaces the name of a worker in service bindings and in bindings to Durable Object classes, in all versions of the
 * account. Returns the ids of the workers whose live versions have changed, after increasing their revisions.
 */
export async function renameInBindings(tables: Tables, { account, from, to }: ScriptRename): Promise<string[]> {
  const rows = await tables
    .selectFrom("worker_versions")
    .select(["id", "bindings"])
    .where("account_id", "=", account)
    .where("bindings", "like", mentions(from))
    .execute();
  const changedIds: string[] = [];
  for (const { id, bindings } of rows) {
    const before = JSON.parse(bindings) as Binding[];
    const after = before.map((binding) => renamedBinding(binding, from, to));
    if (before.every((binding, i) => binding === after[i])) continue;
    changedIds.push(id);
    await tables
      .updateTable("worker_versions")
      .set({ bindings: JSON.stringify(after) })
      .where("id", "=", id)
      .execute();
  }
  return increaseRevisions(tables, changedIds);
}

function renamedBinding(binding: Binding, from: string, to: string): Binding {
  if (binding.type === "service" && binding.service === from) return { ...binding, service: to };
  if (binding.type === "durable_object_namespace" && binding.script_name === from)
    return { ...binding, script_name: to };
  return binding;
}

/** Versions per statement: SQLite accepts 32,766 parameters. */
const BATCH = 500;

async function increaseRevisions(tables: Tables, versionIds: readonly string[]): Promise<string[]> {
  const scriptIds = new Set<string>();
  for (let i = 0; i < versionIds.length; i += BATCH) {
    const rows = await tables
      .selectFrom("worker_deployed_versions")
      .innerJoin("worker_scripts", "worker_scripts.live_deployment_id", "worker_deployed_versions.deployment_id")
      .select("worker_scripts.id")
      .where("worker_deployed_versions.version_id", "in", versionIds.slice(i, i + BATCH))
      .execute();
    for (const { id } of rows) scriptIds.add(id);
  }
  for (const id of scriptIds)
    await tables
      .updateTable("worker_scripts")
      .set({ revision: sql<number>`coalesce(revision, 0) + 1` })
      .where("id", "=", id)
      .execute();
  return [...scriptIds];
}

/** Replaces the name of a worker in the `tail_consumers` of all workers of the account. */
export async function renameInTailConsumers(tables: Tables, { account, from, to }: ScriptRename): Promise<void> {
  const rows = await tables
    .selectFrom("worker_scripts")
    .select(["id", "settings"])
    .where("account_id", "=", account)
    .where("settings", "like", mentions(from))
    .execute();
  for (const { id, settings } of rows) {
    const { tailConsumers, ...rest } = JSON.parse(settings) as Pick<ScriptSettings, "tailConsumers">;
    const renamed = tailConsumers.map((each) => (each.service === from ? { ...each, service: to } : each));
    await tables
      .updateTable("worker_scripts")
      .set({ settings: JSON.stringify({ ...rest, tailConsumers: renamed }) })
      .where("id", "=", id)
      .execute();
  }
}

/** Matches JSON that contains the name as a string. A `_` in a name matches any character: callers check the value. */
const mentions = (name: string) => `%"${name}"%`;
