import type { Kysely } from "kysely";
import type { AssetsConfig } from "../config.ts";
import type { AssetTables } from "./schema.ts";

type Tables = Kysely<AssetTables>;
/** `worker_versions` is defined by the scripts domain. */
export type TablesWithVersions = AssetTables & { worker_versions: { id: string } };

/** The assets of a version. */
export interface VersionAssets {
  manifestId: string;
  config: AssetsConfig;
}

export async function insertVersionAssets(
  tables: Tables,
  versionId: string,
  { manifestId, config }: VersionAssets,
): Promise<void> {
  await tables
    .insertInto("worker_version_assets")
    .values({ version_id: versionId, manifest_id: manifestId, config: JSON.stringify(config) })
    .execute();
}

export async function findVersionAssets(tables: Tables, versionId: string): Promise<VersionAssets | undefined> {
  const row = await tables
    .selectFrom("worker_version_assets")
    .selectAll()
    .where("version_id", "=", versionId)
    .executeTakeFirst();
  return row && { manifestId: row.manifest_id, config: JSON.parse(row.config) as AssetsConfig };
}

/** Removes the assets of versions that no longer exist. The sweep removes their files. */
export async function pruneVersionAssets(tables: Kysely<TablesWithVersions>): Promise<void> {
  await tables
    .deleteFrom("worker_version_assets")
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("worker_versions")
            .select("id")
            .whereRef("worker_versions.id", "=", "worker_version_assets.version_id"),
        ),
      ),
    )
    .execute();
}
