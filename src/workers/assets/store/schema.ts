import { sql } from "kysely";
import type { Migration } from "../../../store/index.ts";

/** Uploaded assets. Times are epoch milliseconds. */
export interface AssetTables {
  /** A list of paths and their files. Equal lists of an account are stored once. */
  worker_asset_manifests: {
    id: string;
    account_id: string;
    /** When an upload session or a new version last used it. */
    used_at: number;
  };
  worker_asset_paths: {
    manifest_id: string;
    path: string;
    hash: string;
    size: number;
  };
  /** An uploaded file, identified within the account by the hash that the client computed. */
  worker_asset_files: {
    account_id: string;
    hash: string;
    sha256: string;
    size: number;
    content_type: string | null;
    object_key: string;
    used_at: number;
  };
  worker_version_assets: {
    version_id: string;
    manifest_id: string;
    /** AssetsConfig as JSON. */
    config: string;
  };
}

export const assetMigrations: Migration[] = [
  {
    name: "workers-assets-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("worker_asset_manifests")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("used_at", "bigint", (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex("worker_asset_manifests_used")
        .on("worker_asset_manifests")
        .column("used_at")
        .execute();
      await db.schema
        .createTable("worker_asset_paths")
        .addColumn("manifest_id", key, (column) => column.notNull())
        .addColumn("path", key, (column) => column.notNull())
        .addColumn("hash", key, (column) => column.notNull())
        .addColumn("size", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("worker_asset_paths_key", ["manifest_id", "path"])
        .execute();
      await db.schema.createIndex("worker_asset_paths_hash").on("worker_asset_paths").column("hash").execute();
      await db.schema
        .createTable("worker_asset_files")
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("hash", key, (column) => column.notNull())
        .addColumn("sha256", key, (column) => column.notNull())
        .addColumn("size", "bigint", (column) => column.notNull())
        .addColumn("content_type", "text")
        .addColumn("object_key", key, (column) => column.notNull())
        .addColumn("used_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("worker_asset_files_key", ["account_id", "hash"])
        .execute();
      await db.schema
        .createIndex("worker_asset_files_content")
        .on("worker_asset_files")
        .columns(["account_id", "sha256"])
        .execute();
      await db.schema.createIndex("worker_asset_files_object").on("worker_asset_files").column("object_key").execute();
      await db.schema.createIndex("worker_asset_files_used").on("worker_asset_files").column("used_at").execute();
      await db.schema
        .createTable("worker_version_assets")
        .addColumn("version_id", key, (column) => column.primaryKey())
        .addColumn("manifest_id", key, (column) => column.notNull())
        .addColumn("config", "text", (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex("worker_version_assets_manifest")
        .on("worker_version_assets")
        .column("manifest_id")
        .execute();
    },
  },
];
