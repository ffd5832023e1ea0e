import { sql } from "kysely";
import type { Migration } from "../store/index.ts";

export interface ClusterTables {
  /** One row per running process. */
  cluster_nodes: {
    id: string;
    name: string;
    /** `host:port` of the internal listener; empty if there is none. */
    address: string;
    /** Comma-separated. */
    roles: string;
    version: string;
    /** One-minute load average per CPU core, in percent. */
    load: number;
    started_at: number;
    /** Time of the last heartbeat. Like `started_at`, read from the clock of the database. */
    seen_at: number;
    draining: number;
  };
  /** The certificate authority of the nodes: one row. */
  cluster_authority: {
    name: string;
    /** PEM. */
    certificate: string;
    /** PEM, encrypted under `cluster-authority`. */
    private_key: string;
  };
}

export const clusterMigrations: readonly Migration[] = [
  {
    name: "cluster-001-nodes",
    async up(db, types) {
      await db.schema
        .createTable("cluster_nodes")
        .addColumn("id", sql.raw(types.keyText), (column) => column.primaryKey())
        .addColumn("name", "text", (column) => column.notNull())
        .addColumn("address", "text", (column) => column.notNull())
        .addColumn("roles", "text", (column) => column.notNull())
        .addColumn("version", "text", (column) => column.notNull())
        .addColumn("load", "integer", (column) => column.notNull())
        .addColumn("started_at", "bigint", (column) => column.notNull())
        .addColumn("seen_at", "bigint", (column) => column.notNull())
        .addColumn("draining", "integer", (column) => column.notNull())
        .execute();
    },
  },
  {
    name: "cluster-002-authority",
    async up(db, types) {
      await db.schema
        .createTable("cluster_authority")
        .addColumn("name", sql.raw(types.keyText), (column) => column.primaryKey())
        .addColumn("certificate", "text", (column) => column.notNull())
        .addColumn("private_key", "text", (column) => column.notNull())
        .execute();
    },
  },
];
