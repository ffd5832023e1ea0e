import { sql } from "kysely";
import type { Migration } from "../../../store/index.ts";

/** Times are epoch milliseconds. */
export interface AiGatewayTables {
  ai_gateways: GatewayRow;
  ai_gateway_logs: LogRow;
  ai_gateway_cache: CacheRow;
}

export interface GatewayRow {
  account_id: string;
  id: string;
  /** JSON. */
  settings: string;
  created_at: number;
  modified_at: number;
}

export interface LogRow {
  id: string;
  account_id: string;
  gateway_id: string;
  created_at: number;
  provider: string;
  model: string;
  /** 0 or 1. */
  success: number;
  cached: number;
  /** All other fields, as JSON. */
  details: string;
}

export interface CacheRow {
  account_id: string;
  gateway_id: string;
  key: string;
  expires_at: number;
  status: number;
  content_type: string;
  body: Uint8Array;
}

export const aiGatewayMigrations: readonly Migration[] = [
  {
    name: "workers-ai-gateway-001",
    async up(db, types) {
      const text = sql.raw(types.keyText);
      await db.schema
        .createTable("ai_gateways")
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("id", text, (column) => column.notNull())
        .addColumn("settings", "text", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("modified_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("ai_gateways_key", ["account_id", "id"])
        .execute();
      await db.schema
        .createTable("ai_gateway_logs")
        .addColumn("id", text, (column) => column.primaryKey())
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("gateway_id", text, (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("provider", text, (column) => column.notNull())
        .addColumn("model", text, (column) => column.notNull())
        .addColumn("success", "integer", (column) => column.notNull())
        .addColumn("cached", "integer", (column) => column.notNull())
        .addColumn("details", "text", (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex("ai_gateway_logs_time")
        .on("ai_gateway_logs")
        .columns(["account_id", "gateway_id", "created_at", "id"])
        .execute();
      await db.schema
        .createTable("ai_gateway_cache")
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("gateway_id", text, (column) => column.notNull())
        .addColumn("key", text, (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .addColumn("status", "integer", (column) => column.notNull())
        .addColumn("content_type", "text", (column) => column.notNull())
        // This column comes last, so that evictions never read the overflow pages of a response.
        .addColumn("body", sql.raw(types.bytes), (column) => column.notNull())
        .addPrimaryKeyConstraint("ai_gateway_cache_key", ["account_id", "gateway_id", "key"])
        .execute();
      await db.schema
        .createIndex("ai_gateway_cache_expiry")
        .on("ai_gateway_cache")
        .columns(["account_id", "expires_at"])
        .execute();
    },
  },
];
