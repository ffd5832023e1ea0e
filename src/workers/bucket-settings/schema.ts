import { sql } from "kysely";
import type { Migration } from "../../store/index.ts";

export interface BucketSettingsTables {
  r2_bucket_settings: {
    /** The bucket in `r2_objects`: the id of a bucket of an account, or in development, the bucket name. */
    bucket_id: string;
    /** "" in development. */
    account_id: string;
    name: string;
    /** JSON: CorsRule[]. Null if there is no policy. */
    cors: string | null;
    /** JSON: LifecycleRule[]. Null for the default rules. */
    lifecycle: string | null;
    /** JSON: NotificationRule[]. */
    notifications: string;
    /** 1 if the bucket is public on its managed host. */
    managed: number;
  };
  r2_domains: {
    /** Lower case. */
    domain: string;
    bucket_id: string;
    account_id: string;
    zone_id: string;
    enabled: number;
    min_tls: string;
    /** JSON. */
    ciphers: string;
  };
}

export const bucketSettingsMigrations: Migration[] = [
  {
    name: "workers-bucket-settings-001",
    async up(db, types) {
      const text = sql.raw(types.keyText);
      await db.schema
        .createTable("r2_bucket_settings")
        .addColumn("bucket_id", text, (column) => column.primaryKey())
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("name", text, (column) => column.notNull())
        .addColumn("cors", "text")
        .addColumn("lifecycle", "text")
        .addColumn("notifications", "text", (column) => column.notNull())
        .addColumn("managed", "integer", (column) => column.notNull())
        .execute();
      await db.schema
        .createTable("r2_domains")
        .addColumn("domain", text, (column) => column.primaryKey())
        .addColumn("bucket_id", text, (column) => column.notNull())
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("zone_id", text, (column) => column.notNull())
        .addColumn("enabled", "integer", (column) => column.notNull())
        .addColumn("min_tls", "text", (column) => column.notNull())
        .addColumn("ciphers", "text", (column) => column.notNull())
        .execute();
      await db.schema.createIndex("r2_domains_bucket").on("r2_domains").columns(["bucket_id", "domain"]).execute();
    },
  },
];
