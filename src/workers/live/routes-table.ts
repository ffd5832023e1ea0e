import type { Db } from "../../store/index.ts";
import type { ScriptRef } from "../scripts/port.ts";
import type { ScriptsTables } from "../scripts/schema.ts";
import type { ScriptRoute } from "./pick.ts";

/** Resolves with undefined if the script does not exist or is not deployed. */
export async function loadRoute(db: Db, by: ScriptRef | { scriptId: string }): Promise<ScriptRoute | undefined> {
  const scripts = db.tables<ScriptsTables>().selectFrom("worker_scripts");
  const script =
    "scriptId" in by
      ? scripts.where("worker_scripts.id", "=", by.scriptId)
      : scripts.where("worker_scripts.account_id", "=", by.account).where("worker_scripts.name", "=", by.script);
  const rows = await script
    .innerJoin(
      "worker_deployed_versions",
      "worker_deployed_versions.deployment_id",
      "worker_scripts.live_deployment_id",
    )
    .innerJoin("worker_versions", "worker_versions.id", "worker_deployed_versions.version_id")
    .select(["worker_scripts.id", "worker_deployed_versions.version_id", "worker_deployed_versions.percentage"])
    .orderBy("worker_versions.number", "desc")
    .execute();
  return rows.length === 0
    ? undefined
    : {
        scriptId: rows[0]!.id,
        versions: rows.map(({ version_id, percentage }) => ({ versionId: version_id, percentage })),
      };
}
