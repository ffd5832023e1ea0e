import { sql } from "kysely";
import type { Migration } from "../store/index.ts";
import { auditMigrations } from "./audit/audit-table.ts";
import { membersMigrations } from "./members/members-table.ts";
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
    // The old hash of a token's value is the token's S3 secret, which must not be stored in plaintext. The hash column
    // now contains a hash of the S3 secret, and the S3 secret itself is stored encrypted.
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
  {
    name: "accounts-004-sign-in",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("sessions")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("user_id", key, (column) => column.notNull())
        .addColumn("secret_hash", key, (column) => column.notNull().unique())
        .addColumn("method", "text", (column) => column.notNull())
        .addColumn("two_factor", "integer", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("last_used_at", "bigint", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .addColumn("ip", "text")
        .addColumn("user_agent", "text")
        .execute();
      await db.schema.createIndex("sessions_user").on("sessions").columns(["user_id", "created_at", "id"]).execute();
      await db.schema.createIndex("sessions_expiry").on("sessions").columns(["expires_at"]).execute();
      await db.schema.createIndex("sessions_use").on("sessions").columns(["last_used_at"]).execute();
      await db.schema
        .createTable("sign_in_links")
        .addColumn("secret_hash", key, (column) => column.primaryKey())
        .addColumn("user_id", key, (column) => column.notNull())
        .addColumn("skips_two_factor", "integer", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .execute();
      await db.schema
        .createTable("user_passwords")
        .addColumn("user_id", key, (column) => column.primaryKey())
        .addColumn("hash", "text", (column) => column.notNull())
        .addColumn("changed_at", "bigint", (column) => column.notNull())
        .execute();
      await db.schema
        .createTable("user_totp")
        .addColumn("user_id", key, (column) => column.primaryKey())
        .addColumn("secret", "text", (column) => column.notNull())
        .addColumn("confirmed_at", "bigint")
        .addColumn("last_step", "bigint", (column) => column.notNull())
        .execute();
      await db.schema
        .createTable("recovery_codes")
        .addColumn("user_id", key, (column) => column.notNull())
        .addColumn("code_hash", key, (column) => column.notNull())
        .addPrimaryKeyConstraint("recovery_codes_pk", ["user_id", "code_hash"])
        .execute();
      await db.schema
        .createTable("passkeys")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("user_id", key, (column) => column.notNull())
        .addColumn("credential_id", key, (column) => column.notNull().unique())
        .addColumn("rp_id", "text", (column) => column.notNull())
        .addColumn("public_key", "text", (column) => column.notNull())
        .addColumn("counter", "bigint", (column) => column.notNull())
        .addColumn("transports", "text", (column) => column.notNull())
        .addColumn("name", "text", (column) => column.notNull())
        .addColumn("synced", "integer", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("last_used_at", "bigint")
        .execute();
      await db.schema.createIndex("passkeys_user").on("passkeys").columns(["user_id", "created_at", "id"]).execute();
      await db.schema
        .createTable("used_challenges")
        .addColumn("challenge_hash", key, (column) => column.primaryKey())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .execute();
    },
  },
  ...auditMigrations,
  ...membersMigrations,
];

const rehash = (oldHash: string): string => hashOfS3Secret(Buffer.from(oldHash, "base64url").toString("hex"));
