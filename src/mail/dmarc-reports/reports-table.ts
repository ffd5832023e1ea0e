import { sql, type Kysely } from "kysely";
import type { Migration } from "../../store/index.ts";

export interface DmarcReportTables {
  email_dmarc_reports: {
    zone_id: string;
    account_id: string;
    rua_prefix: string;
    enabled: number;
    skip_wizard: number;
    tls: number;
    created_at: number;
    modified_at: number;
  };
}

type DmarcReportExecutor = Kysely<DmarcReportTables>;

export const dmarcReportsMigration: Migration = {
  name: "mail-007-dmarc-reports",
  async up(db, types) {
    const key = sql.raw(types.keyText);
    await db.schema
      .createTable("email_dmarc_reports")
      .addColumn("zone_id", key, (column) => column.primaryKey())
      .addColumn("account_id", key, (column) => column.notNull())
      .addColumn("rua_prefix", key, (column) => column.notNull().unique())
      .addColumn("enabled", "integer", (column) => column.notNull())
      .addColumn("skip_wizard", "integer", (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("modified_at", "bigint", (column) => column.notNull())
      .execute();
  },
};

export interface DmarcReportRow {
  zone: string;
  account: string;
  /** 32 hex digits: the local part of the report address of the zone. */
  ruaPrefix: string;
  enabled: boolean;
  skipWizard: boolean;
  /** True if the zone publishes an address for TLS reports. */
  tls: boolean;
  createdAt: number;
  modifiedAt: number;
}

const fromRow = (row: DmarcReportTables["email_dmarc_reports"]): DmarcReportRow => ({
  zone: row.zone_id,
  account: row.account_id,
  ruaPrefix: row.rua_prefix,
  enabled: row.enabled === 1,
  skipWizard: row.skip_wizard === 1,
  tls: row.tls === 1,
  createdAt: row.created_at,
  modifiedAt: row.modified_at,
});

export async function reportsOf(db: DmarcReportExecutor, zone: string): Promise<DmarcReportRow | undefined> {
  const row = await db.selectFrom("email_dmarc_reports").selectAll().where("zone_id", "=", zone).executeTakeFirst();
  return row && fromRow(row);
}

/** Finds a zone by the local part of its report address. */
export async function reportsByPrefix(db: DmarcReportExecutor, prefix: string): Promise<DmarcReportRow | undefined> {
  const row = await db
    .selectFrom("email_dmarc_reports")
    .selectAll()
    .where("rua_prefix", "=", prefix)
    .executeTakeFirst();
  return row && fromRow(row);
}

/** Inserts or updates a row. An existing row keeps its prefix, and its `tls` once it has been set. */
export async function upsertReports(db: DmarcReportExecutor, row: DmarcReportRow): Promise<void> {
  const { zone: zone_id, account: account_id, ruaPrefix: rua_prefix, createdAt: created_at } = row;
  const change = {
    enabled: Number(row.enabled),
    skip_wizard: Number(row.skipWizard),
    modified_at: row.modifiedAt,
    ...(row.tls && { tls: 1 }),
  };
  await db
    .insertInto("email_dmarc_reports")
    .values({ zone_id, account_id, rua_prefix, created_at, tls: 0, ...change })
    .onConflict((conflict) => conflict.column("zone_id").doUpdateSet(change))
    .execute();
}

/** Resolves with the zones that have stored report data, in order, starting after this one. */
export async function zonesWithReports(db: DmarcReportExecutor, after: string, limit: number): Promise<string[]> {
  return (
    await db
      .selectFrom("email_dmarc_reports")
      .select("zone_id")
      .where("zone_id", ">", after)
      .orderBy("zone_id")
      .limit(limit)
      .execute()
  ).map(({ zone_id }) => zone_id);
}

export async function deleteReports(db: DmarcReportExecutor, zone: string): Promise<void> {
  await db.deleteFrom("email_dmarc_reports").where("zone_id", "=", zone).execute();
}
