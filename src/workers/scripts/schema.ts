import { sql } from "kysely";
import { countRows, type Migration } from "../../store/index.ts";
import { objectMigrations } from "../objects/schema.ts";

/** Columns marked as JSON contain text written only by this program. Times are epoch milliseconds. */
export interface ScriptsTables {
  worker_scripts: {
    id: string;
    account_id: string;
    name: string;
    created_at: number;
    modified_at: number;
    subdomain_enabled: number;
    previews_enabled: number;
    /** JSON: the rest of ScriptSettings. */
    settings: string;
    /** Number of versions and deployments ever created: numbers are never reused. */
    version_count: number;
    deployment_count: number;
    latest_version_id: string | null;
    live_deployment_id: string | null;
    /**
     * Increased when a rename changes what the processes of the live versions contain: their own name, or the name of a
     * worker that they call. Null means 0.
     */
    revision: number | null;
    /** The name before the last rename. */
    former_name: string | null;
    renamed_at: number | null;
  };
  worker_versions: {
    id: string;
    account_id: string;
    script_id: string;
    number: number;
    created_at: number;
    /** JSON. */
    author: string;
    etag: string;
    format: string;
    main: string;
    /** JSON; the values of secrets are encrypted. */
    bindings: string;
    /** JSON. */
    handlers: string;
    compatibility_date: string;
    /** JSON. */
    compatibility_flags: string;
    /** JSON. */
    limits: string | null;
    /** JSON. */
    annotations: string;
    startup_ms: number;
    size: number;
    /** Null if created before assets were supported. */
    has_assets: number | null;
  };
  worker_modules: {
    version_id: string;
    position: number;
    name: string;
    kind: string;
    content_type: string;
    sha256: string;
    size: number;
    object_key: string;
  };
  worker_deployments: {
    id: string;
    account_id: string;
    script_id: string;
    number: number;
    created_at: number;
    /** JSON. */
    author: string;
    /** JSON. */
    annotations: string;
  };
  worker_deployed_versions: {
    deployment_id: string;
    position: number;
    version_id: string;
    percentage: number;
  };
  worker_schedules: {
    script_id: string;
    cron: string;
    account_id: string;
    position: number;
    created_at: number;
    modified_at: number;
    /** The minute of the last claimed run. */
    last_run: number;
  };
  worker_subdomains: {
    account_id: string;
    label: string;
  };
}

export const SCRIPT_COUNTS = { name: "worker_scripts", table: "worker_scripts", by: "account_id" } as const;

export const scriptsMigrations: Migration[] = [
  {
    name: "workers-scripts-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("worker_scripts")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("name", key, (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("modified_at", "bigint", (column) => column.notNull())
        .addColumn("subdomain_enabled", "integer", (column) => column.notNull())
        .addColumn("previews_enabled", "integer", (column) => column.notNull())
        .addColumn("settings", "text", (column) => column.notNull())
        .addColumn("version_count", "integer", (column) => column.notNull())
        .addColumn("deployment_count", "integer", (column) => column.notNull())
        .addColumn("latest_version_id", key)
        .addColumn("live_deployment_id", key)
        .addUniqueConstraint("worker_scripts_name", ["account_id", "name"])
        .execute();
      await db.schema
        .createTable("worker_versions")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("script_id", key, (column) => column.notNull())
        .addColumn("number", "integer", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("author", "text", (column) => column.notNull())
        .addColumn("etag", "text", (column) => column.notNull())
        .addColumn("format", "text", (column) => column.notNull())
        .addColumn("main", "text", (column) => column.notNull())
        .addColumn("bindings", "text", (column) => column.notNull())
        .addColumn("handlers", "text", (column) => column.notNull())
        .addColumn("compatibility_date", "text", (column) => column.notNull())
        .addColumn("compatibility_flags", "text", (column) => column.notNull())
        .addColumn("limits", "text")
        .addColumn("annotations", "text", (column) => column.notNull())
        .addColumn("startup_ms", "integer", (column) => column.notNull())
        .addColumn("size", "bigint", (column) => column.notNull())
        .addUniqueConstraint("worker_versions_number", ["script_id", "number"])
        .execute();
      await db.schema
        .createTable("worker_modules")
        .addColumn("version_id", key, (column) => column.notNull())
        .addColumn("position", "integer", (column) => column.notNull())
        .addColumn("name", "text", (column) => column.notNull())
        .addColumn("kind", "text", (column) => column.notNull())
        .addColumn("content_type", "text", (column) => column.notNull())
        .addColumn("sha256", "text", (column) => column.notNull())
        .addColumn("size", "bigint", (column) => column.notNull())
        .addColumn("object_key", key, (column) => column.notNull())
        .addPrimaryKeyConstraint("worker_modules_key", ["version_id", "position"])
        .execute();
      await db.schema.createIndex("worker_modules_object").on("worker_modules").column("object_key").execute();
      await db.schema
        .createTable("worker_deployments")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("script_id", key, (column) => column.notNull())
        .addColumn("number", "integer", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("author", "text", (column) => column.notNull())
        .addColumn("annotations", "text", (column) => column.notNull())
        .addUniqueConstraint("worker_deployments_number", ["script_id", "number"])
        .execute();
      await db.schema
        .createTable("worker_deployed_versions")
        .addColumn("deployment_id", key, (column) => column.notNull())
        .addColumn("position", "integer", (column) => column.notNull())
        .addColumn("version_id", key, (column) => column.notNull())
        .addColumn("percentage", "double precision", (column) => column.notNull())
        .addPrimaryKeyConstraint("worker_deployed_versions_key", ["deployment_id", "position"])
        .execute();
      await db.schema
        .createIndex("worker_deployed_versions_version")
        .on("worker_deployed_versions")
        .column("version_id")
        .execute();
      await db.schema
        .createTable("worker_schedules")
        .addColumn("script_id", key, (column) => column.notNull())
        .addColumn("cron", key, (column) => column.notNull())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("position", "integer", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("modified_at", "bigint", (column) => column.notNull())
        .addColumn("last_run", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("worker_schedules_key", ["script_id", "cron"])
        .execute();
      await db.schema
        .createIndex("worker_schedules_cron")
        .on("worker_schedules")
        .columns(["cron", "script_id"])
        .execute();
      await db.schema
        .createTable("worker_subdomains")
        .addColumn("account_id", key, (column) => column.primaryKey())
        .addColumn("label", key, (column) => column.notNull().unique())
        .execute();
    },
  },
  {
    name: "workers-scripts-002",
    up: (db) => db.schema.alterTable("worker_versions").addColumn("has_assets", "integer").execute(),
  },
  {
    name: "workers-scripts-003",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema.alterTable("worker_scripts").addColumn("revision", "integer").execute();
      await db.schema.alterTable("worker_scripts").addColumn("former_name", key).execute();
      await db.schema.alterTable("worker_scripts").addColumn("renamed_at", "bigint").execute();
      await db.schema
        .createIndex("worker_scripts_former_name")
        .on("worker_scripts")
        .columns(["account_id", "former_name"])
        .execute();
    },
  },
  ...objectMigrations,
  {
    name: "workers-scripts-004-counts",
    async up(db, types) {
      await countRows(db, types, SCRIPT_COUNTS);
      // Lets a process that claims the runs of a minute skip those already claimed.
      await db.schema
        .createIndex("worker_schedules_due")
        .on("worker_schedules")
        .columns(["cron", "last_run", "script_id"])
        .execute();
    },
  },
];
