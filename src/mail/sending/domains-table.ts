import { sql, type Compilable, type Kysely } from "kysely";
import { offsetOf, type Page, type PageRequest } from "../../kernel/index.ts";
import { prepareQuery, type Migration } from "../../store/index.ts";
import type { SendingZone } from "./types.ts";

export interface SendingTables {
  email_sending_domains: {
    id: string;
    zone_id: string;
    zone_name: string;
    account_id: string;
    name: string;
    enabled: number;
    preview_enabled: number;
    drop_suppressed: number;
    created_at: number;
    modified_at: number;
  };
  /** Messages per account per day. */
  email_sending_usage: {
    account_id: string;
    /** Days since 1970-01-01, UTC. */
    day: number;
    sent: number;
  };
}

type SendingExecutor = Kysely<SendingTables>;
export type SendingDomainRow = SendingTables["email_sending_domains"];

export const sendingMigration: Migration = {
  name: "mail-sending-001",
  async up(db, types) {
    const key = sql.raw(types.keyText);
    await db.schema
      .createTable("email_sending_domains")
      .addColumn("id", key, (column) => column.primaryKey())
      .addColumn("zone_id", key, (column) => column.notNull())
      .addColumn("zone_name", key, (column) => column.notNull())
      .addColumn("account_id", key, (column) => column.notNull())
      .addColumn("name", key, (column) => column.notNull())
      .addColumn("enabled", "integer", (column) => column.notNull())
      .addColumn("preview_enabled", "integer", (column) => column.notNull())
      .addColumn("drop_suppressed", "integer", (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("modified_at", "bigint", (column) => column.notNull())
      .execute();
    // Name comes first, because every sender is looked up by it.
    await db.schema
      .createIndex("email_sending_domains_name")
      .on("email_sending_domains")
      .columns(["name", "zone_id"])
      .unique()
      .execute();
    await db.schema
      .createIndex("email_sending_domains_zone")
      .on("email_sending_domains")
      .columns(["zone_id", "name"])
      .execute();
    await db.schema
      .createIndex("email_sending_domains_account")
      .on("email_sending_domains")
      .columns(["account_id", "zone_name", "zone_id"])
      .execute();
    await db.schema
      .createTable("email_sending_usage")
      .addColumn("account_id", key, (column) => column.notNull())
      .addColumn("day", "integer", (column) => column.notNull())
      .addColumn("sent", "bigint", (column) => column.notNull())
      .addPrimaryKeyConstraint("email_sending_usage_key", ["account_id", "day"])
      .execute();
    await db.schema.createIndex("email_sending_usage_day").on("email_sending_usage").columns(["day"]).execute();
  },
};

export const domainById = (db: SendingExecutor, zone: string, id: string): Promise<SendingDomainRow | undefined> =>
  db
    .selectFrom("email_sending_domains")
    .selectAll()
    .where("id", "=", id)
    .where("zone_id", "=", zone)
    .executeTakeFirst();

/**
 * Rows with this name, the one with sending enabled first; read for every message. There is only one, except while
 * zones are being deleted.
 */
export const domainByName = (db: SendingExecutor) =>
  prepareQuery<SendingDomainRow>((arg) =>
    db
      .selectFrom("email_sending_domains")
      .selectAll()
      .where("name", "=", arg<string>("name"))
      .orderBy("enabled", "desc")
      .limit(5),
  );

export const domainsOf = (db: SendingExecutor, zone: string): Promise<SendingDomainRow[]> =>
  db.selectFrom("email_sending_domains").selectAll().where("zone_id", "=", zone).orderBy("name").execute();

export async function upsertDomain(db: SendingExecutor, row: SendingDomainRow): Promise<void> {
  const { enabled, preview_enabled, drop_suppressed, modified_at } = row;
  await db
    .insertInto("email_sending_domains")
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(["name", "zone_id"]).doUpdateSet({ enabled, preview_enabled, drop_suppressed, modified_at }),
    )
    .execute();
}

export async function deleteDomain(db: SendingExecutor, id: string): Promise<void> {
  await db.deleteFrom("email_sending_domains").where("id", "=", id).execute();
}

export async function deleteSendingDomains(db: SendingExecutor, zone: string): Promise<void> {
  await db.deleteFrom("email_sending_domains").where("zone_id", "=", zone).execute();
}

/** Resolves with the ids of zones that have sending domains, in order, starting after this one. */
export async function zonesWithSending(db: SendingExecutor, after: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom("email_sending_domains")
    .select("zone_id")
    .distinct()
    .where("zone_id", ">", after)
    .orderBy("zone_id")
    .limit(limit)
    .execute();
  return rows.map(({ zone_id }) => zone_id);
}

/** An account has a few thousand names at most, so they are grouped on demand. */
export async function sendingZones(
  db: SendingExecutor,
  account: string,
  page: PageRequest,
): Promise<Page<SendingZone>> {
  const accountDomains = db
    .selectFrom("email_sending_domains")
    .where("account_id", "=", account)
    .where("enabled", "=", 1);
  const { total } = await accountDomains
    .select(({ fn }) => fn.count<number>("zone_id").distinct().as("total"))
    .executeTakeFirstOrThrow();
  const rows = await accountDomains
    .select(({ fn, eb }) => [
      "zone_id",
      "zone_name",
      fn.min("created_at").as("created"),
      fn.max("modified_at").as("modified"),
      fn.max<number>(eb.case().when("name", "=", eb.ref("zone_name")).then(1).else(0).end()).as("own"),
    ])
    .groupBy(["zone_name", "zone_id"])
    .orderBy("zone_name")
    .orderBy("zone_id")
    .limit(page.perPage)
    .offset(offsetOf(page))
    .execute();
  return {
    items: rows.map((row) => ({
      id: row.zone_id,
      name: row.zone_name,
      enabled: Number(row.own) === 1,
      createdAt: Number(row.created),
      modifiedAt: Number(row.modified),
    })),
    total: Number(total),
  };
}

/** Counts one more message; returns no row if the limit has been reached. */
export const countSent = (
  db: SendingExecutor,
  account: string,
  day: number,
  limit: number,
): Compilable<{ sent: number }> =>
  db
    .insertInto("email_sending_usage")
    .values({ account_id: account, day, sent: 1 })
    .onConflict((conflict) =>
      conflict
        .columns(["account_id", "day"])
        .doUpdateSet((eb) => ({ sent: eb("email_sending_usage.sent", "+", 1) }))
        .where("email_sending_usage.sent", "<", limit),
    )
    .returning("sent");

export async function countSentOn(db: SendingExecutor, account: string, day: number): Promise<number> {
  return (
    (
      await db
        .selectFrom("email_sending_usage")
        .select("sent")
        .where("account_id", "=", account)
        .where("day", "=", day)
        .executeTakeFirst()
    )?.sent ?? 0
  );
}

export const deleteUsage = (db: SendingExecutor, before: number): Compilable =>
  db.deleteFrom("email_sending_usage").where("day", "<", before);
