import type { Kysely } from "kysely";
import type { AssetTables } from "./schema.ts";

/** The database or a transaction on it. */
type Tables = Kysely<AssetTables>;

export interface ManifestEntry {
  path: string;
  hash: string;
  size: number;
}

export interface FileRecord {
  hash: string;
  sha256: string;
  size: number;
  /** Null if served without Content-Type. */
  contentType: string | null;
  objectKey: string;
}

/** Rows per statement. SQLite allows 32,766 parameters. */
const ROWS_PER_STATEMENT = 500;

/** Adds the manifest, or marks the existing one as used. */
export async function putManifest(
  tables: Tables,
  { id, account, now }: { id: string; account: string; now: number },
  entries: readonly ManifestEntry[],
): Promise<void> {
  if (await touchManifest(tables, { id, account, now })) return;
  await tables
    .insertInto("worker_asset_manifests")
    .values({ id, account_id: account, used_at: now })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .execute();
  for (let i = 0; i < entries.length; i += ROWS_PER_STATEMENT)
    await tables
      .insertInto("worker_asset_paths")
      .values(
        entries.slice(i, i + ROWS_PER_STATEMENT).map(({ path, hash, size }) => ({ manifest_id: id, path, hash, size })),
      )
      .onConflict((conflict) => conflict.columns(["manifest_id", "path"]).doNothing())
      .execute();
}

/**
 * Marks a manifest as used, so that a concurrent sweep does not remove it. Resolves with false if it does not exist.
 */
export async function touchManifest(
  tables: Tables,
  { id, account, now }: { id: string; account: string; now: number },
): Promise<boolean> {
  const { numUpdatedRows } = await tables
    .updateTable("worker_asset_manifests")
    .set({ used_at: now })
    .where("id", "=", id)
    .where("account_id", "=", account)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Marks the files of a manifest as used. */
export async function touchFiles(
  tables: Tables,
  { id, account, now }: { id: string; account: string; now: number },
): Promise<void> {
  await tables
    .updateTable("worker_asset_files")
    .set({ used_at: now })
    .where("account_id", "=", account)
    .where("hash", "in", tables.selectFrom("worker_asset_paths").select("hash").where("manifest_id", "=", id))
    .execute();
}

/** Returns the files of a manifest that have not been uploaded, without duplicates and ordered by hash. */
export async function missingFiles(
  tables: Tables,
  { id, account }: { id: string; account: string },
): Promise<{ hash: string; size: number }[]> {
  return tables
    .selectFrom("worker_asset_paths as paths")
    .leftJoin("worker_asset_files as files", (join) =>
      join
        .onRef("files.hash", "=", "paths.hash")
        .onRef("files.size", "=", "paths.size")
        .on("files.account_id", "=", account),
    )
    .select(["paths.hash", "paths.size"])
    .distinct()
    .where("paths.manifest_id", "=", id)
    .where("files.hash", "is", null)
    .orderBy("paths.hash")
    .execute();
}

/** Returns the size of a file in a manifest, or undefined if the manifest does not contain the hash. */
export async function sizeInManifest(tables: Tables, id: string, hash: string): Promise<number | undefined> {
  const row = await tables
    .selectFrom("worker_asset_paths")
    .select("size")
    .where("manifest_id", "=", id)
    .where("hash", "=", hash)
    .executeTakeFirst();
  return row?.size;
}

/** Returns the paths of a manifest and their files. */
export async function listManifest(
  tables: Tables,
  { id, account }: { id: string; account: string },
): Promise<(FileRecord & { path: string })[]> {
  const rows = await tables
    .selectFrom("worker_asset_paths as paths")
    .innerJoin("worker_asset_files as files", (join) =>
      join.onRef("files.hash", "=", "paths.hash").on("files.account_id", "=", account),
    )
    .select(["paths.path", "files.hash", "files.sha256", "files.size", "files.content_type", "files.object_key"])
    .where("paths.manifest_id", "=", id)
    .execute();
  return rows.map(({ path, hash, sha256, size, content_type, object_key }) => ({
    path,
    hash,
    sha256,
    size,
    contentType: content_type,
    objectKey: object_key,
  }));
}

/**
 * Adds a file, or marks the existing one as used. Resolves with the stored file, which may differ: a concurrent upload
 * may have stored another one under this hash, or the account may have the same content under another hash, whose
 * object is then shared.
 */
export async function putFile(
  tables: Tables,
  account: string,
  { hash, sha256, size, contentType, objectKey }: FileRecord,
  now: number,
): Promise<{ sha256: string; objectKey: string }> {
  // Update first: a sweep deletes only rows that have been unused for a while.
  const matchingRows = await tables
    .updateTable("worker_asset_files")
    .set({ used_at: now })
    .where("account_id", "=", account)
    .where((eb) => eb.or([eb("hash", "=", hash), eb("sha256", "=", sha256)]))
    .returning(["hash", "sha256", "object_key"])
    .execute();
  const existingFile = matchingRows.find((row) => row.hash === hash);
  if (existingFile !== undefined) return { sha256: existingFile.sha256, objectKey: existingFile.object_key };
  const sharedObjectKey = matchingRows[0]?.object_key ?? objectKey;
  const [addedRows] = await tables
    .insertInto("worker_asset_files")
    .values({
      account_id: account,
      hash,
      sha256,
      size,
      content_type: contentType,
      object_key: sharedObjectKey,
      used_at: now,
    })
    .onConflict((conflict) => conflict.columns(["account_id", "hash"]).doNothing())
    .returning("hash")
    .execute();
  if (addedRows !== undefined) return { sha256, objectKey: sharedObjectKey };
  // A concurrent upload inserted the row first.
  const row = await tables
    .selectFrom("worker_asset_files")
    .select(["sha256", "object_key"])
    .where("account_id", "=", account)
    .where("hash", "=", hash)
    .executeTakeFirstOrThrow();
  return { sha256: row.sha256, objectKey: row.object_key };
}

/** Removes manifests that no version uses and no upload session has used since `before`. Resolves with their number. */
export async function pruneManifests(tables: Tables, before: number, limit: number): Promise<number> {
  const unused = await tables
    .selectFrom("worker_asset_manifests")
    .select("id")
    .where("used_at", "<", before)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("worker_version_assets")
            .select("version_id")
            .whereRef("worker_version_assets.manifest_id", "=", "worker_asset_manifests.id"),
        ),
      ),
    )
    .limit(limit)
    .execute();
  const ids = unused.map(({ id }) => id);
  if (ids.length === 0) return 0;
  const removed = await tables
    .deleteFrom("worker_asset_manifests")
    .where("id", "in", ids)
    // Checked again, because the manifest may have been used since.
    .where("used_at", "<", before)
    .returning("id")
    .execute();
  if (removed.length > 0)
    await tables
      .deleteFrom("worker_asset_paths")
      .where(
        "manifest_id",
        "in",
        removed.map(({ id }) => id),
      )
      .execute();
  return removed.length;
}

/**
 * Removes files that have been unused since `before` and that no manifest of their account contains. Resolves with
 * their number.
 */
export async function pruneFiles(tables: Tables, before: number, limit: number): Promise<number> {
  const unused = await tables
    .selectFrom("worker_asset_files as files")
    .select(["files.account_id", "files.hash"])
    .where("files.used_at", "<", before)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("worker_asset_paths as paths")
            .innerJoin("worker_asset_manifests as manifests", "manifests.id", "paths.manifest_id")
            .select("paths.path")
            .whereRef("paths.hash", "=", "files.hash")
            .whereRef("manifests.account_id", "=", "files.account_id"),
        ),
      ),
    )
    .limit(limit)
    .execute();
  let removed = 0;
  for (const { account_id, hash } of unused) {
    const { numDeletedRows } = await tables
      .deleteFrom("worker_asset_files")
      .where("account_id", "=", account_id)
      .where("hash", "=", hash)
      .where("used_at", "<", before)
      .executeTakeFirst();
    removed += Number(numDeletedRows);
  }
  return removed;
}

/** Returns the subset of these objects that a file references. */
export async function referencedAssetObjects(tables: Tables, objectKeys: string[]): Promise<Set<string>> {
  if (objectKeys.length === 0) return new Set();
  const rows = await tables
    .selectFrom("worker_asset_files")
    .select("object_key")
    .distinct()
    .where("object_key", "in", objectKeys)
    .execute();
  return new Set(rows.map(({ object_key }) => object_key));
}
