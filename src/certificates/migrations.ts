import { sql } from "kysely";
import type { Migration } from "../store/index.ts";

export const certificatesMigrations: Migration[] = [
  {
    name: "certificates-001-acme",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("tls_certificates")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("directory", "text", (column) => column.notNull())
        .addColumn("names", "text", (column) => column.notNull())
        .addColumn("chain", "text")
        .addColumn("private_key", "text")
        .addColumn("not_after", "bigint")
        .addColumn("next_at", "bigint", (column) => column.notNull())
        .addColumn("failures", "integer", (column) => column.notNull())
        .addColumn("error", "text")
        .addColumn("lease", "text")
        .addColumn("lease_until", "bigint")
        .execute();
      await db.schema
        .createTable("acme_accounts")
        .addColumn("directory", key, (column) => column.primaryKey())
        .addColumn("private_key", "text", (column) => column.notNull())
        .execute();
      await db.schema
        .createTable("acme_proofs")
        .addColumn("token", key, (column) => column.primaryKey())
        .addColumn("key_authorization", "text", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .execute();
    },
  },
];
