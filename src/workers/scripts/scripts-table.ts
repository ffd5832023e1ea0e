import type { Kysely, Selectable } from "kysely";
import { readPage, type PageRequest } from "../../kernel/index.ts";
import { prepareQuery, rowCount } from "../../store/index.ts";
import type { ScriptSettings } from "./port.ts";
import { SCRIPT_COUNTS, type ScriptsTables } from "./schema.ts";

/** In these functions, `tables` is the database or a transaction on it. */
export type Tables = Kysely<ScriptsTables>;

export interface ScriptRecord extends ScriptSettings {
  id: string;
  account: string;
  name: string;
  createdAt: number;
  modifiedAt: number;
  versionCount: number;
  deploymentCount: number;
  latestVersionId: string | null;
  liveDeploymentId: string | null;
  /** See `worker_scripts.revision`. */
  revision: number;
  formerName: string | null;
  renamedAt: number | null;
}

export const findScript = async (tables: Tables, account: string, name: string): Promise<ScriptRecord | undefined> =>
  record(
    await tables
      .selectFrom("worker_scripts")
      .selectAll()
      .where("account_id", "=", account)
      .where("name", "=", name)
      .executeTakeFirst(),
  );

/** Like findScript(), but outside a transaction, for frequent callers. */
export function scriptReader(tables: Tables): (account: string, name: string) => Promise<ScriptRecord | undefined> {
  const find = prepareQuery((arg) =>
    tables
      .selectFrom("worker_scripts")
      .selectAll()
      .where("account_id", "=", arg<string>("account"))
      .where("name", "=", arg<string>("name")),
  );
  return async (account, name) => record((await tables.executeQuery(find({ account, name }).compile())).rows[0]);
}

export const findScriptById = async (tables: Tables, id: string): Promise<ScriptRecord | undefined> =>
  record(await tables.selectFrom("worker_scripts").selectAll().where("id", "=", id).executeTakeFirst());

/** `total` is the number of workers of the account. */
export async function listScripts(
  tables: Tables,
  account: string,
  page: PageRequest,
  total: number,
): Promise<ScriptRecord[]> {
  const rows = await readPage(page, total, ({ offset, limit, reversed }) =>
    tables
      .selectFrom("worker_scripts")
      .selectAll()
      .where("account_id", "=", account)
      .orderBy("name", reversed ? "desc" : "asc")
      .offset(offset)
      .limit(limit)
      .execute(),
  );
  return rows.map((row) => record(row)!);
}

/** Resolves with the ids of the workers with these names; names without a worker are absent. */
export async function scriptIds(
  tables: Tables,
  account: string,
  names: readonly string[],
): Promise<Map<string, string>> {
  if (names.length === 0) return new Map();
  const rows = await tables
    .selectFrom("worker_scripts")
    .select(["id", "name"])
    .where("account_id", "=", account)
    .where("name", "in", names)
    .execute();
  return new Map(rows.map(({ id, name }) => [name, id]));
}

export const countScripts = (tables: Tables, account: string): Promise<number> =>
  rowCount(tables, SCRIPT_COUNTS, account);

export async function insertScript(tables: Tables, script: ScriptRecord): Promise<void> {
  await tables.insertInto("worker_scripts").values(rowOf(script)).execute();
}

export async function updateScript(tables: Tables, script: ScriptRecord): Promise<void> {
  await tables.updateTable("worker_scripts").set(rowOf(script)).where("id", "=", script.id).execute();
}

export async function deleteScript(tables: Tables, id: string): Promise<void> {
  const versions = tables.selectFrom("worker_versions").select("id").where("script_id", "=", id);
  const deployments = tables.selectFrom("worker_deployments").select("id").where("script_id", "=", id);
  await tables.deleteFrom("worker_modules").where("version_id", "in", versions).execute();
  await tables.deleteFrom("worker_versions").where("script_id", "=", id).execute();
  await tables.deleteFrom("worker_deployed_versions").where("deployment_id", "in", deployments).execute();
  await tables.deleteFrom("worker_deployments").where("script_id", "=", id).execute();
  await tables.deleteFrom("worker_schedules").where("script_id", "=", id).execute();
  await tables.deleteFrom("worker_scripts").where("id", "=", id).execute();
}

export const settingsOf = ({
  subdomainEnabled,
  previewsEnabled,
  tags,
  logpush,
  observability,
  tailConsumers,
  usageModel,
  placement,
  migrationTag,
}: ScriptSettings): ScriptSettings => ({
  subdomainEnabled,
  previewsEnabled,
  tags,
  logpush,
  observability,
  tailConsumers,
  usageModel,
  placement,
  ...(migrationTag !== undefined && { migrationTag }),
});

function rowOf(script: ScriptRecord): ScriptsTables["worker_scripts"] {
  const { subdomainEnabled, previewsEnabled, ...settings } = settingsOf(script);
  return {
    id: script.id,
    account_id: script.account,
    name: script.name,
    created_at: script.createdAt,
    modified_at: script.modifiedAt,
    subdomain_enabled: Number(subdomainEnabled),
    previews_enabled: Number(previewsEnabled),
    settings: JSON.stringify(settings),
    version_count: script.versionCount,
    deployment_count: script.deploymentCount,
    latest_version_id: script.latestVersionId,
    live_deployment_id: script.liveDeploymentId,
    revision: script.revision,
    former_name: script.formerName,
    renamed_at: script.renamedAt,
  };
}

const record = (row: Selectable<ScriptsTables["worker_scripts"]> | undefined): ScriptRecord | undefined =>
  row && {
    ...(JSON.parse(row.settings) as Omit<ScriptSettings, "subdomainEnabled" | "previewsEnabled">),
    subdomainEnabled: row.subdomain_enabled === 1,
    previewsEnabled: row.previews_enabled === 1,
    id: row.id,
    account: row.account_id,
    name: row.name,
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
    versionCount: row.version_count,
    deploymentCount: row.deployment_count,
    latestVersionId: row.latest_version_id,
    liveDeploymentId: row.live_deployment_id,
    revision: row.revision ?? 0,
    formerName: row.former_name,
    renamedAt: row.renamed_at,
  };
