import { sql } from "kysely";
import type { Migration } from "../../store/index.ts";

export interface WorkerRoutingTables {
  worker_routes: RouteRow;
  worker_domains: DomainRow;
}

export interface RouteRow {
  id: string;
  account_id: string;
  zone_id: string;
  pattern: string;
  /** See patternKey(). */
  pattern_key: string;
  /** Null if no worker runs. */
  script: string | null;
}

export interface DomainRow {
  id: string;
  account_id: string;
  zone_id: string;
  zone_name: string;
  hostname: string;
  script: string;
  enabled: number;
  previews_enabled: number;
}

export const routingMigrations: readonly Migration[] = [
  {
    name: "workers-routing-001",
    async up(db, types) {
      const text = sql.raw(types.keyText);
      await db.schema
        .createTable("worker_routes")
        .addColumn("id", text, (column) => column.primaryKey())
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("zone_id", text, (column) => column.notNull())
        .addColumn("pattern", "text", (column) => column.notNull())
        .addColumn("pattern_key", text, (column) => column.notNull())
        .addColumn("script", text)
        .addUniqueConstraint("worker_routes_pattern", ["zone_id", "pattern_key"])
        .execute();
      await db.schema
        .createIndex("worker_routes_script")
        .on("worker_routes")
        .columns(["account_id", "script"])
        .execute();
      await db.schema
        .createTable("worker_domains")
        .addColumn("id", text, (column) => column.primaryKey())
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("zone_id", text, (column) => column.notNull())
        .addColumn("zone_name", text, (column) => column.notNull())
        .addColumn("hostname", text, (column) => column.notNull().unique())
        .addColumn("script", text, (column) => column.notNull())
        .addColumn("enabled", "integer", (column) => column.notNull())
        .addColumn("previews_enabled", "integer", (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex("worker_domains_script")
        .on("worker_domains")
        .columns(["account_id", "script"])
        .execute();
      await db.schema.createIndex("worker_domains_zone").on("worker_domains").column("zone_id").execute();
    },
  },
];
