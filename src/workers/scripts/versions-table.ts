import type { Selectable } from "kysely";
import type { UploadedModule, Version } from "./port.ts";
import type { ScriptsTables } from "./schema.ts";
import type { Tables } from "./scripts-table.ts";

/** A version as stored: the values of its secrets are encrypted, and its script name is stored elsewhere. */
export interface VersionRecord extends Omit<Version, "script" | "createdAt"> {
  createdAt: number;
}

/** One module of a version, with the object that holds its bytes. */
export interface ModuleRecord {
  name: string;
  kind: UploadedModule["kind"];
  contentType: string;
  /** SHA-256 of the bytes, in hex. */
  sha256: string;
  size: number;
  objectKey: string;
}

export const findVersion = async (tables: Tables, id: string): Promise<VersionRecord | undefined> =>
  record(await tables.selectFrom("worker_versions").selectAll().where("id", "=", id).executeTakeFirst());

export async function findVersions(tables: Tables, ids: string[]): Promise<Map<string, VersionRecord>> {
  if (ids.length === 0) return new Map();
  const rows = await tables.selectFrom("worker_versions").selectAll().where("id", "in", ids).execute();
  return new Map(rows.map((row) => [row.id, record(row)!]));
}

export async function listVersions(
  tables: Tables,
  scriptId: string,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ versions: VersionRecord[]; total: number }> {
  const scriptVersions = tables.selectFrom("worker_versions").where("script_id", "=", scriptId);
  const rows = await scriptVersions.selectAll().orderBy("number", "desc").offset(offset).limit(limit).execute();
  const { total } = await scriptVersions.select((eb) => eb.fn.countAll<number>().as("total")).executeTakeFirstOrThrow();
  return { versions: rows.map((row) => record(row)!), total: Number(total) };
}

export async function listModules(tables: Tables, versionId: string): Promise<ModuleRecord[]> {
  const rows = await tables
    .selectFrom("worker_modules")
    .selectAll()
    .where("version_id", "=", versionId)
    .orderBy("position")
    .execute();
  return rows.map((row) => ({
    name: row.name,
    kind: row.kind as ModuleRecord["kind"],
    contentType: row.content_type,
    sha256: row.sha256,
    size: row.size,
    objectKey: row.object_key,
  }));
}

/** Rows per statement: SQLite accepts 32,766 parameters. */
const ROWS_AT_ONCE = 500;

export async function insertVersion(tables: Tables, version: VersionRecord, modules: ModuleRecord[]): Promise<void> {
  await tables.insertInto("worker_versions").values(rowOf(version)).execute();
  const rows = modules.map(({ name, kind, contentType, sha256, size, objectKey }, position) => ({
    version_id: version.id,
    position,
    name,
    kind,
    content_type: contentType,
    sha256,
    size,
    object_key: objectKey,
  }));
  for (let i = 0; i < rows.length; i += ROWS_AT_ONCE)
    await tables
      .insertInto("worker_modules")
      .values(rows.slice(i, i + ROWS_AT_ONCE))
      .execute();
}

/** Removes versions up to this number that no deployment uses. Their objects are left to the sweep. */
export async function pruneVersions(tables: Tables, scriptId: string, maxPosition: number): Promise<void> {
  if (maxPosition < 1) return;
  const rows = await tables
    .selectFrom("worker_versions")
    .select("id")
    .where("script_id", "=", scriptId)
    .where("number", "<=", maxPosition)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("worker_deployed_versions")
            .select("version_id")
            .whereRef("worker_deployed_versions.version_id", "=", "worker_versions.id"),
        ),
      ),
    )
    .limit(ROWS_AT_ONCE)
    .execute();
  if (rows.length === 0) return;
  const ids = rows.map(({ id }) => id);
  await tables.deleteFrom("worker_modules").where("version_id", "in", ids).execute();
  await tables.deleteFrom("worker_versions").where("id", "in", ids).execute();
}

/** Deletes a version and the deployments that contain it. */
export async function deleteVersion(
  tables: Tables,
  { id, scriptId }: Pick<VersionRecord, "id" | "scriptId">,
): Promise<void> {
  const deployments = (
    await tables.selectFrom("worker_deployed_versions").select("deployment_id").where("version_id", "=", id).execute()
  ).map(({ deployment_id }) => deployment_id);
  if (deployments.length > 0) {
    await tables.deleteFrom("worker_deployed_versions").where("deployment_id", "in", deployments).execute();
    await tables
      .deleteFrom("worker_deployments")
      .where("script_id", "=", scriptId)
      .where("id", "in", deployments)
      .execute();
  }
  await tables.deleteFrom("worker_modules").where("version_id", "=", id).execute();
  await tables.deleteFrom("worker_versions").where("id", "=", id).execute();
}

/** Resolves with the subset of these objects that versions use. */
export async function referencedObjects(tables: Tables, objectKeys: string[]): Promise<Set<string>> {
  if (objectKeys.length === 0) return new Set();
  const rows = await tables
    .selectFrom("worker_modules")
    .select("object_key")
    .distinct()
    .where("object_key", "in", objectKeys)
    .execute();
  return new Set(rows.map(({ object_key }) => object_key));
}

const rowOf = (version: VersionRecord): ScriptsTables["worker_versions"] => ({
  id: version.id,
  account_id: version.account,
  script_id: version.scriptId,
  number: version.number,
  created_at: version.createdAt,
  author: JSON.stringify(version.author),
  etag: version.etag,
  format: version.format,
  main: version.main,
  bindings: JSON.stringify(version.bindings),
  handlers: JSON.stringify(version.handlers),
  compatibility_date: version.compatibilityDate,
  compatibility_flags: JSON.stringify(version.compatibilityFlags),
  limits: version.limits === undefined ? null : JSON.stringify(version.limits),
  annotations: JSON.stringify(version.annotations),
  startup_ms: version.startupMs,
  size: version.size,
  has_assets: Number(version.hasAssets),
});

const record = (row: Selectable<ScriptsTables["worker_versions"]> | undefined): VersionRecord | undefined =>
  row && {
    id: row.id,
    scriptId: row.script_id,
    account: row.account_id,
    number: row.number,
    author: JSON.parse(row.author),
    createdAt: row.created_at,
    etag: row.etag,
    format: row.format as Version["format"],
    main: row.main,
    bindings: JSON.parse(row.bindings),
    handlers: JSON.parse(row.handlers),
    compatibilityDate: row.compatibility_date,
    compatibilityFlags: JSON.parse(row.compatibility_flags),
    ...(row.limits !== null && { limits: JSON.parse(row.limits) }),
    annotations: JSON.parse(row.annotations),
    startupMs: row.startup_ms,
    size: row.size,
    hasAssets: row.has_assets === 1,
  };
