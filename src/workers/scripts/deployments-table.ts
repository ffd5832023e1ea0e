import type { Selectable } from "kysely";
import type { Deployment } from "./port.ts";
import type { ScriptsTables } from "./schema.ts";
import type { Tables } from "./scripts-table.ts";

export interface DeploymentRecord extends Omit<Deployment, "createdAt"> {
  account: string;
  /** Increases from 1 within its script. */
  number: number;
  createdAt: number;
}

export async function findDeployments(tables: Tables, ids: string[]): Promise<Map<string, DeploymentRecord>> {
  if (ids.length === 0) return new Map();
  const rows = await tables.selectFrom("worker_deployments").selectAll().where("id", "in", ids).execute();
  return new Map((await withVersions(tables, rows)).map((deployment) => [deployment.id, deployment]));
}

export async function listDeployments(
  tables: Tables,
  scriptId: string,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ deployments: DeploymentRecord[]; total: number }> {
  const scriptDeployments = tables.selectFrom("worker_deployments").where("script_id", "=", scriptId);
  const rows = await scriptDeployments.selectAll().orderBy("number", "desc").offset(offset).limit(limit).execute();
  const { total } = await scriptDeployments
    .select((eb) => eb.fn.countAll<number>().as("total"))
    .executeTakeFirstOrThrow();
  return { deployments: await withVersions(tables, rows), total: Number(total) };
}

export async function insertDeployment(
  tables: Tables,
  { id, account, scriptId, number, createdAt, author, annotations, versions }: DeploymentRecord,
): Promise<void> {
  const row = {
    id,
    account_id: account,
    script_id: scriptId,
    number,
    created_at: createdAt,
    author: JSON.stringify(author),
    annotations: JSON.stringify(annotations),
  };
  await tables.insertInto("worker_deployments").values(row).execute();
  await tables
    .insertInto("worker_deployed_versions")
    .values(
      versions.map(({ versionId, percentage }, position) => ({
        deployment_id: id,
        position,
        version_id: versionId,
        percentage,
      })),
    )
    .execute();
}

export async function pruneDeployments(tables: Tables, scriptId: string, maxPosition: number): Promise<void> {
  if (maxPosition < 1) return;
  const oldDeployments = tables
    .selectFrom("worker_deployments")
    .select("id")
    .where("script_id", "=", scriptId)
    .where("number", "<=", maxPosition);
  await tables.deleteFrom("worker_deployed_versions").where("deployment_id", "in", oldDeployments).execute();
  await tables
    .deleteFrom("worker_deployments")
    .where("script_id", "=", scriptId)
    .where("number", "<=", maxPosition)
    .execute();
}

export async function deleteDeployment(tables: Tables, id: string): Promise<void> {
  await tables.deleteFrom("worker_deployed_versions").where("deployment_id", "=", id).execute();
  await tables.deleteFrom("worker_deployments").where("id", "=", id).execute();
}

async function withVersions(
  tables: Tables,
  rows: Selectable<ScriptsTables["worker_deployments"]>[],
): Promise<DeploymentRecord[]> {
  if (rows.length === 0) return [];
  const parts = await tables
    .selectFrom("worker_deployed_versions")
    .selectAll()
    .where(
      "deployment_id",
      "in",
      rows.map(({ id }) => id),
    )
    .orderBy("deployment_id")
    .orderBy("position")
    .execute();
  const partsByDeployment = Map.groupBy(parts, ({ deployment_id }) => deployment_id);
  return rows.map((row) => ({
    id: row.id,
    account: row.account_id,
    scriptId: row.script_id,
    number: row.number,
    createdAt: row.created_at,
    author: JSON.parse(row.author),
    annotations: JSON.parse(row.annotations),
    versions: (partsByDeployment.get(row.id) ?? []).map(({ version_id, percentage }) => ({
      versionId: version_id,
      percentage,
    })),
  }));
}
