import { sql } from "kysely";
import type { Migration } from "../store/index.ts";
import { hashOfS3Secret } from "./tokens/value.ts";

export const accountsMigrations: Migration[] = [
  {
    name: "accounts-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("users")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("email", "text", (column) => column.notNull())
        .addColumn("email_key", key, (column) => column.notNull().unique())
        .addColumn("first_name", "text")
        .addColumn("last_name", "text")
        .addColumn("telephone", "text")
        .addColumn("country", "text")
        .addColumn("zipcode", "text")
        .addColumn("global_key_hash", key, (column) => column.unique())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .execute();
      await db.schema.createIndex("users_created").on("users").columns(["created_at", "id"]).execute();
      await db.schema
        .createTable("accounts")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("name", "text", (column) => column.notNull())
        .addColumn("type", "text", (column) => column.notNull())
        .addColumn("settings", "text", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .execute();
      await db.schema
        .createTable("memberships")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("user_id", key, (column) => column.notNull())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("status", "text", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex("memberships_pair")
        .on("memberships")
        .columns(["account_id", "user_id"])
        .unique()
        .execute();
      await db.schema
        .createIndex("memberships_user")
        .on("memberships")
        .columns(["user_id", "created_at", "id"])
        .execute();
      await db.schema
        .createTable("tokens")
        .addColumn("id", key, (column) => column.primaryKey())
        // The owner of the token: exactly one of the two columns is set.
        .addColumn("user_id", key)
        .addColumn("account_id", key)
        .addColumn("created_by", key, (column) => column.notNull())
        .addColumn("name", "text", (column) => column.notNull())
        .addColumn("value_hash", key, (column) => column.notNull().unique())
        .addColumn("status", "text", (column) => column.notNull())
        .addColumn("policies", "text", (column) => column.notNull())
        .addColumn("request_ip", "text")
        .addColumn("not_before", "bigint")
        .addColumn("expires_at", "bigint")
        .addColumn("issued_at", "bigint", (column) => column.notNull())
        .addColumn("modified_at", "bigint", (column) => column.notNull())
        .addColumn("last_used_at", "bigint")
        .execute();
      await db.schema
        .createIndex("tokens_user")
        .on("tokens")
        .columns(["user_id", "issued_at", "id"])
        .where(sql.ref("user_id"), "is not", null)
        .execute();
      await db.schema
        .createIndex("tokens_account")
        .on("tokens")
        .columns(["account_id", "issued_at", "id"])
        .where(sql.ref("account_id"), "is not", null)
        .execute();
    },
  },
  {
    // The old hash of a token's value is the token's S3 secret, which must not be stored in plaintext. The hash column now
    // contains a hash of the S3 secret, and the S3 secret itself is stored encrypted.
    name: "accounts-002-s3-secrets",
    async up(db) {
      await db.schema.alterTable("tokens").addColumn("s3_secret", "text").execute();
      for (const { id, value_hash } of await db.selectFrom("tokens").select(["id", "value_hash"]).execute())
        await db
          .updateTable("tokens")
          .set({ value_hash: rehash(value_hash as string) })
          .where("id", "=", id)
          .execute();
      const users = await db.selectFrom("users").select(["id", "global_key_hash"]).execute();
      for (const { id, global_key_hash } of users)
        if (global_key_hash !== null)
          await db
            .updateTable("users")
            .set({ global_key_hash: rehash(global_key_hash as string) })
            .where("id", "=", id)
            .execute();
    },
  },
  {
    // Until now, every member had all permissions.
    name: "accounts-003-roles",
    async up(db) {
      await db.schema
        .alterTable("memberships")
        .addColumn("role", "text", (column) => column.notNull().defaultTo("administrator"))
        .execute();
    },
  },
];

const rehash = (oldHash: string): string => hashOfS3Secret(Buffer.from(oldHash, "base64url").toString("hex"));
