import { sql } from "kysely";
import type { Migration } from "../../store/index.ts";

/** Times are epoch milliseconds. */
export interface SecretsStoreTables {
  secret_stores: StoreRow;
  store_secrets: SecretRow;
}

export interface StoreRow {
  id: string;
  account_id: string;
  name: string;
  created_at: number;
  modified_at: number;
}

export interface SecretRow {
  id: string;
  store_id: string;
  account_id: string;
  name: string;
  /** Encrypted; it can only be decrypted for the id of this secret. */
  value: string;
  /** Comma-separated. */
  scopes: string;
  comment: string;
  created_at: number;
  modified_at: number;
}

export const secretsStoreMigrations: readonly Migration[] = [
  {
    name: "workers-secrets-store-001",
    async up(db, types) {
      const text = sql.raw(types.keyText);
      await db.schema
        .createTable("secret_stores")
        .addColumn("id", text, (column) => column.primaryKey())
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("name", text, (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("modified_at", "bigint", (column) => column.notNull())
        .addUniqueConstraint("secret_stores_name", ["account_id", "name"])
        .execute();
      await db.schema
        .createTable("store_secrets")
        .addColumn("id", text, (column) => column.primaryKey())
        .addColumn("store_id", text, (column) => column.notNull())
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("name", text, (column) => column.notNull())
        .addColumn("value", "text", (column) => column.notNull())
        .addColumn("scopes", "text", (column) => column.notNull())
        .addColumn("comment", "text", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("modified_at", "bigint", (column) => column.notNull())
        .addUniqueConstraint("store_secrets_name", ["store_id", "name"])
        .execute();
      await db.schema.createIndex("store_secrets_account").on("store_secrets").column("account_id").execute();
    },
  },
];
