import { sql } from "kysely";
import type { Migration } from "../store/index.ts";
import { pushMigration } from "./dns/push/tables.ts";
import { reverseLabels } from "./records/records-table.ts";

export const zonesMigrations: Migration[] = [
  {
    name: "zones-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("zones")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("name", key, (column) => column.notNull().unique())
        .addColumn("type", key, (column) => column.notNull())
        .addColumn("status", key, (column) => column.notNull())
        .addColumn("paused", "integer", (column) => column.notNull())
        .addColumn("name_servers", "text", (column) => column.notNull())
        .addColumn("vanity_name_servers", "text", (column) => column.notNull())
        .addColumn("verification_key", "text")
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("modified_at", "bigint", (column) => column.notNull())
        .addColumn("activated_at", "bigint")
        .addColumn("serial", "bigint", (column) => column.notNull())
        .execute();
      await db.schema.createIndex("zones_account").on("zones").columns(["account_id", "name"]).execute();
      await db.schema.createIndex("zones_status").on("zones").columns(["status", "name"]).execute();
    },
  },
  {
    name: "zones-002-records",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("dns_records")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("zone_id", key, (column) => column.notNull())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("type", key, (column) => column.notNull())
        .addColumn("name", key, (column) => column.notNull())
        .addColumn("content_key", key, (column) => column.notNull())
        .addColumn("digest", key, (column) => column.notNull())
        .addColumn("priority", "integer")
        .addColumn("ttl", "integer", (column) => column.notNull())
        .addColumn("proxied", "integer", (column) => column.notNull())
        .addColumn("private_routing", "integer", (column) => column.notNull())
        .addColumn("locked", "integer", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("modified_at", "bigint", (column) => column.notNull())
        .addColumn("comment_at", "bigint")
        .addColumn("tags_at", "bigint")
        .addColumn("managed_by", key)
        .addColumn("settings", "text")
        .addColumn("comment", "text")
        .addColumn("comment_key", "text")
        .addColumn("tags", "text")
        .addColumn("meta", "text")
        .addColumn("content", "text", (column) => column.notNull())
        .addColumn("data", "text")
        .execute();
      // Lists are sorted by these columns; the last columns make the order total.
      await db.schema
        .createIndex("dns_records_name")
        .on("dns_records")
        .columns(["zone_id", "name", "type", "digest"])
        .unique()
        .execute();
      await db.schema
        .createIndex("dns_records_type")
        .on("dns_records")
        .columns(["zone_id", "type", "name", "digest"])
        .execute();
      await db.schema
        .createIndex("dns_records_content")
        .on("dns_records")
        .columns(["zone_id", "content_key", "id"])
        .execute();
      await db.schema.createIndex("dns_records_ttl").on("dns_records").columns(["zone_id", "ttl", "id"]).execute();
      await db.schema
        .createIndex("dns_records_proxied")
        .on("dns_records")
        .columns(["zone_id", "proxied", "id"])
        .execute();
      await sql`create index dns_records_managed on dns_records (zone_id, managed_by, name) where managed_by is not null`.execute(
        db,
      );
      await db.schema
        .createTable("dns_record_tags")
        .addColumn("zone_id", key, (column) => column.notNull())
        .addColumn("record_id", key, (column) => column.notNull())
        .addColumn("name", key, (column) => column.notNull())
        .addColumn("value", key, (column) => column.notNull())
        .addPrimaryKeyConstraint("dns_record_tags_key", ["zone_id", "record_id", "name", "value"])
        .execute();
      await db.schema
        .createIndex("dns_record_tags_name")
        .on("dns_record_tags")
        .columns(["zone_id", "name", "value", "record_id"])
        .execute();
      await db.schema
        .createTable("dns_record_counts")
        .addColumn("zone_id", key, (column) => column.notNull())
        .addColumn("type", key, (column) => column.notNull())
        .addColumn("records", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("dns_record_counts_key", ["zone_id", "type"])
        .execute();
    },
  },
  {
    name: "zones-003-reversed-names",
    async up(db, types) {
      await db.schema
        .alterTable("dns_records")
        .addColumn("reversed", sql.raw(types.keyText), (column) => column.notNull().defaultTo(""))
        .execute();
      for (let after = ""; ;) {
        const rows: { id: string; name: string }[] = await db
          .selectFrom("dns_records")
          .select(["id", "name"])
          .where("id", ">", after)
          .orderBy("id")
          .limit(1000)
          .execute();
        for (const { id, name } of rows)
          await db
            .updateTable("dns_records")
            .set({ reversed: reverseLabels(name) })
            .where("id", "=", id)
            .execute();
        if (rows.length === 0) break;
        after = rows.at(-1)!.id;
      }
      await db.schema.createIndex("dns_records_reversed").on("dns_records").columns(["zone_id", "reversed"]).execute();
    },
  },
  pushMigration,
  {
    name: "zones-004-written-content",
    async up(db) {
      await db.schema.alterTable("dns_records").addColumn("written", "text").execute();
    },
  },
];
