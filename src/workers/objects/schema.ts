import { sql } from "kysely";
import type { Migration } from "../../store/index.ts";

export interface ObjectTables {
  /** A worker's current migration tag is stored in its settings. Times are epoch milliseconds. */
  worker_object_namespaces: {
    id: string;
    account_id: string;
    script_id: string;
    class_name: string;
    sqlite: number;
    created_at: number;
  };
}

export const objectMigrations: Migration[] = [
  {
    name: "workers-objects-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("worker_object_namespaces")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("script_id", key, (column) => column.notNull())
        .addColumn("class_name", key, (column) => column.notNull())
        .addColumn("sqlite", "integer", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addUniqueConstraint("worker_object_namespaces_class", ["script_id", "class_name"])
        .execute();
      await db.schema
        .createIndex("worker_object_namespaces_account")
        .on("worker_object_namespaces")
        .column("account_id")
        .execute();
    },
  },
];
