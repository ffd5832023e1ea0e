import type { Db } from "../../store/index.ts";
import type { ScriptRef } from "../scripts/port.ts";
import type { ScriptsTables } from "../scripts/schema.ts";
import type { ScriptRoute } from "./select-version.ts";

/** Finds a script by its id, by its name, or by the name it had before a rename after `since`. */
type RouteQuery = { scriptId: string } | ScriptRef | (ScriptRef & { since: number });

/** Resolves with undefined if the script does not exist or is not deployed. */
export async function loadRoute(db: Db, selector: RouteQuery): Promise<ScriptRoute | undefined> {
  const scripts = db.tables<ScriptsTables>().selectFrom("worker_scripts");
  const script =
    "scriptId" in selector
      ? scripts.where("worker_scripts.id", "=", selector.scriptId)
      : "since" in selector
        ? scripts
            .where("worker_scripts.account_id", "=", selector.account)
            .where("worker_scripts.former_name", "=", selector.script)
            .where("worker_scripts.renamed_at", ">", selector.since)
        : scripts
            .where("worker_scripts.account_id", "=", selector.account)
            .where("worker_scripts.name", "=", selector.script);
  const rows = await script
    .innerJoin(
      "worker_deployed_versions",
      "worker_deployed_versions.deployment_id",
      "worker_scripts.live_deployment_id",
    )
    .innerJoin("worker_versions", "worker_versions.id", "worker_deployed_versions.version_id")
    .select([
      "worker_scripts.account_id",
      "worker_scripts.id",
      "worker_scripts.revision",
      "worker_deployed_versions.version_id",
      "worker_deployed_versions.percentage",
    ])
    .orderBy("worker_scripts.renamed_at", "desc")
    .orderBy("worker_scripts.id")
    .orderBy("worker_versions.number", "desc")
    .execute();
  const [first] = rows;
  return (
    first && {
      account: first.account_id,
      scriptId: first.id,
      revision: first.revision ?? 0,
      // Several workers may have had this former name; uses the first one.
      versions: rows
        .filter(({ id }) => id === first.id)
        .map(({ version_id, percentage }) => ({ versionId: version_id, percentage })),
    }
  );
}
