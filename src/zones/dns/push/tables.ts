import { type Kysely, sql } from "kysely";
import type { Migration } from "../../../store/index.ts";
import type { ZoneTables } from "../../tables.ts";

export interface PushTables extends ZoneTables {
  /** Progress of pushing a zone. */
  dns_pushes: {
    zone_id: string;
    account_id: string;
    /** The zone's name, needed after its deletion. */
    name: string;
    /** Serial of the last push that was started; a job retries it until it finishes. */
    tried_serial: number;
    /** Serial of the last complete push; null if there has been none. */
    pushed_serial: number | null;
    /** JSON: PushProblem[]. */
    problems: string;
    changed_at: number;
  };
  /** Records that we pushed or were about to push. */
  dns_pushed_records: {
    zone_id: string;
    name: string;
    type: string;
    digest: string;
    owner: string;
    content: string;
    priority: number | null;
    ttl: number;
    /** 0: unknown whether the record exists, because the push has not returned. */
    applied: number;
  };
}

export type PushExecutor = Kysely<PushTables>;

export const pushMigration: Migration = {
  name: "zones-004-pushes",
  async up(db, types) {
    const key = sql.raw(types.keyText);
    await db.schema
      .createTable("dns_pushes")
      .addColumn("zone_id", key, (column) => column.primaryKey())
      .addColumn("account_id", key, (column) => column.notNull())
      .addColumn("name", key, (column) => column.notNull())
      .addColumn("tried_serial", "bigint", (column) => column.notNull())
      .addColumn("pushed_serial", "bigint")
      .addColumn("problems", "text", (column) => column.notNull())
      .addColumn("changed_at", "bigint", (column) => column.notNull())
      .execute();
    await db.schema
      .createTable("dns_pushed_records")
      .addColumn("zone_id", key, (column) => column.notNull())
      .addColumn("name", key, (column) => column.notNull())
      .addColumn("type", key, (column) => column.notNull())
      .addColumn("digest", key, (column) => column.notNull())
      .addColumn("owner", key, (column) => column.notNull())
      .addColumn("content", "text", (column) => column.notNull())
      .addColumn("priority", "integer")
      .addColumn("ttl", "integer", (column) => column.notNull())
      .addColumn("applied", "integer", (column) => column.notNull())
      .addPrimaryKeyConstraint("dns_pushed_records_key", ["zone_id", "name", "type", "digest"])
      .execute();
  },
};
