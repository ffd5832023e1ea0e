import type { Binding } from "./script.ts";
import type { Tables } from "./scripts-table.ts";

/** Returns the names of the scripts whose live versions send to queues, by queue name. Names are sorted and unique. */
export async function queueProducers(tables: Tables, account: string): Promise<Map<string, string[]>> {
  const rows = await tables
    .selectFrom("worker_scripts")
    .innerJoin(
      "worker_deployed_versions",
      "worker_deployed_versions.deployment_id",
      "worker_scripts.live_deployment_id",
    )
    .innerJoin("worker_versions", "worker_versions.id", "worker_deployed_versions.version_id")
    .select(["worker_scripts.name", "worker_versions.bindings"])
    .where("worker_scripts.account_id", "=", account)
    .where("worker_versions.bindings", "like", '%"type":"queue"%')
    .orderBy("worker_scripts.name")
    .execute();
  const producers = new Map<string, string[]>();
  for (const { name, bindings } of rows) {
    for (const binding of JSON.parse(bindings) as Binding[]) {
      if (binding.type !== "queue") continue;
      const scripts = producers.get(binding.queue_name) ?? [];
      if (scripts.at(-1) !== name) producers.set(binding.queue_name, [...scripts, name]);
    }
  }
  return producers;
}
