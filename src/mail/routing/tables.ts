import { sql, type Kysely } from "kysely";
import { countRows, type Migration } from "../../store/index.ts";
import type { RuleSource } from "./types.ts";

export interface RoutingTables {
  /** Changed zone settings. */
  email_routing_zones: {
    zone_id: string;
    account_id: string;
    skip_wizard: number;
    support_subaddress: number;
    created_at: number;
    modified_at: number;
  };
  /** Names that are or were routed: the zone's own name and those under it. */
  email_routing_names: {
    id: string;
    zone_id: string;
    account_id: string;
    name: string;
    enabled: number;
    /** The user's SPF record to which our include was added. */
    spf_record: string | null;
    created_at: number;
    modified_at: number;
  };
  email_routing_rules: {
    id: string;
    zone_id: string;
    account_id: string;
    /** 1 means the catch-all rule; at most one per zone. */
    catch_all: number;
    name: string;
    enabled: number;
    awaiting: number;
    priority: number;
    /** JSON, as returned by the API. */
    matcher: string;
    /** JSON, as returned by the API. */
    action: string;
    /** The key that recipients are compared with; null for a catch-all rule. */
    target: string | null;
    /** The normalized destination address of a forward. */
    destination: string | null;
    /** All destinations of a forward to several addresses, one per line, with a leading newline. */
    destinations: string | null;
    source: RuleSource;
    owner: string | null;
    created_at: number;
    modified_at: number;
  };
}

export type RoutingExecutor = Kysely<RoutingTables>;

export const routingMigration: Migration = {
  name: "mail-002-routing",
  async up(db, types) {
    const key = sql.raw(types.keyText);
    await db.schema
      .createTable("email_routing_zones")
      .addColumn("zone_id", key, (column) => column.primaryKey())
      .addColumn("account_id", key, (column) => column.notNull())
      .addColumn("skip_wizard", "integer", (column) => column.notNull())
      .addColumn("support_subaddress", "integer", (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("modified_at", "bigint", (column) => column.notNull())
      .execute();
    await db.schema
      .createTable("email_routing_names")
      .addColumn("id", key, (column) => column.primaryKey())
      .addColumn("zone_id", key, (column) => column.notNull())
      .addColumn("account_id", key, (column) => column.notNull())
      .addColumn("name", key, (column) => column.notNull())
      .addColumn("enabled", "integer", (column) => column.notNull())
      .addColumn("spf_record", key)
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("modified_at", "bigint", (column) => column.notNull())
      .execute();
    // Name comes first, because every recipient is looked up by it.
    await db.schema
      .createIndex("email_routing_names_name")
      .on("email_routing_names")
      .columns(["name", "zone_id"])
      .unique()
      .execute();
    await db.schema
      .createIndex("email_routing_names_zone")
      .on("email_routing_names")
      .columns(["zone_id", "name"])
      .execute();
    await db.schema
      .createTable("email_routing_rules")
      .addColumn("id", key, (column) => column.primaryKey())
      .addColumn("zone_id", key, (column) => column.notNull())
      .addColumn("account_id", key, (column) => column.notNull())
      .addColumn("catch_all", "integer", (column) => column.notNull())
      .addColumn("name", "text", (column) => column.notNull())
      .addColumn("enabled", "integer", (column) => column.notNull())
      .addColumn("awaiting", "integer", (column) => column.notNull())
      .addColumn("priority", "bigint", (column) => column.notNull())
      .addColumn("matcher", "text", (column) => column.notNull())
      .addColumn("action", "text", (column) => column.notNull())
      .addColumn("target", key)
      .addColumn("destination", key)
      .addColumn("source", key, (column) => column.notNull())
      .addColumn("owner", key)
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("modified_at", "bigint", (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex("email_routing_rules_zone")
      .on("email_routing_rules")
      .columns(["zone_id", "catch_all", "priority", "created_at", "id"])
      .execute();
    await db.schema
      .createIndex("email_routing_rules_account")
      .on("email_routing_rules")
      .columns(["account_id", "created_at", "id"])
      .execute();
    await sql`create index email_routing_rules_destination on email_routing_rules (account_id, destination) where destination is not null`.execute(
      db,
    );
    await sql`create index email_routing_rules_owner on email_routing_rules (account_id, owner) where owner is not null`.execute(
      db,
    );
    await sql`create unique index email_routing_rules_catch_all on email_routing_rules (zone_id) where catch_all = 1`.execute(
      db,
    );
  },
};

export const routingDestinationsMigration: Migration = {
  name: "mail-routing-destinations-001",
  async up(db) {
    await db.schema.alterTable("email_routing_rules").addColumn("destinations", "text").execute();
  },
};

/** The rules of a zone without the catch-all rule, and all rules of an account. */
export const ZONE_RULE_COUNTS = {
  name: "email_routing_rules_of_zone",
  table: "email_routing_rules",
  by: "zone_id",
  only: "row.catch_all = 0",
} as const;
export const ACCOUNT_RULE_COUNTS = {
  name: "email_routing_rules_of_account",
  table: "email_routing_rules",
  by: "account_id",
} as const;

export const routingCountsMigration: Migration = {
  name: "mail-routing-counts-001",
  async up(db, types) {
    await countRows(db, types, ZONE_RULE_COUNTS);
    await countRows(db, types, ACCOUNT_RULE_COUNTS);
    await db.schema
      .createIndex("email_routing_rules_created")
      .on("email_routing_rules")
      .columns(["zone_id", "catch_all", "created_at", "id"])
      .execute();
    await sql`create index email_routing_rules_patterns on email_routing_rules (zone_id) where target is null and catch_all = 0`.execute(
      db,
    );
  },
};
