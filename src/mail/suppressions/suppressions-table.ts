import { sql, type Expression, type ExpressionBuilder, type Kysely, type SqlBool } from "kysely";
import type { Migration } from "../../store/index.ts";
import type { SuppressionReason } from "./types.ts";

export interface SuppressionTables {
  email_suppressions: {
    id: string;
    account_id: string;
    /** Key for comparing addresses. */
    address: string;
    email: string;
    /** A sending domain, or "" for the account. */
    scope: string;
    reason: SuppressionReason;
    note: string | null;
    /** The sending domain of the mail that bounced or led to the complaint. */
    origin: string | null;
    /** Time of the last bounce or complaint. */
    noted_at: number;
    created_at: number;
    expires_at: number | null;
  };
}

export type SuppressionExecutor = Kysely<SuppressionTables>;
export type SuppressionRow = SuppressionTables["email_suppressions"];

export const suppressionsMigration: Migration = {
  name: "mail-suppressions-001",
  async up(db, types) {
    const key = sql.raw(types.keyText);
    await db.schema
      .createTable("email_suppressions")
      .addColumn("id", key, (column) => column.primaryKey())
      .addColumn("account_id", key, (column) => column.notNull())
      .addColumn("address", key, (column) => column.notNull())
      .addColumn("email", "text", (column) => column.notNull())
      .addColumn("scope", key, (column) => column.notNull())
      .addColumn("reason", key, (column) => column.notNull())
      .addColumn("note", "text")
      .addColumn("origin", key)
      .addColumn("noted_at", "bigint", (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("expires_at", "bigint")
      .execute();
    await db.schema
      .createIndex("email_suppressions_address")
      .on("email_suppressions")
      .columns(["account_id", "address", "scope"])
      .unique()
      .execute();
    await db.schema
      .createIndex("email_suppressions_created")
      .on("email_suppressions")
      .columns(["account_id", "created_at", "id"])
      .execute();
    await db.schema
      .createIndex("email_suppressions_reason")
      .on("email_suppressions")
      .columns(["account_id", "reason", "created_at", "id"])
      .execute();
    await db.schema
      .createIndex("email_suppressions_scope")
      .on("email_suppressions")
      .columns(["account_id", "scope", "created_at", "id"])
      .execute();
    await sql`create index email_suppressions_expires on email_suppressions (expires_at, id) where expires_at is not null`.execute(
      db,
    );
    await sql`create index email_suppressions_complaints on email_suppressions (account_id, origin, noted_at) where reason = 'complaint'`.execute(
      db,
    );
  },
};

export const suppressionById = (
  db: SuppressionExecutor,
  account: string,
  id: string,
): Promise<SuppressionRow | undefined> =>
  db
    .selectFrom("email_suppressions")
    .selectAll()
    .where("id", "=", id)
    .where("account_id", "=", account)
    .executeTakeFirst();

/** Suppressions of the addresses, in any scope, expired or not. */
export const suppressionsOf = (
  db: SuppressionExecutor,
  account: string,
  addresses: readonly string[],
): Promise<SuppressionRow[]> =>
  db
    .selectFrom("email_suppressions")
    .selectAll()
    .where("account_id", "=", account)
    .where("address", "in", addresses)
    .execute();

/** Suppressions of the addresses that apply to mail from this domain. */
export async function suppressedAddresses(
  db: SuppressionExecutor,
  account: string,
  addresses: readonly string[],
  domain: string,
  now: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom("email_suppressions")
    .select("address")
    .where("account_id", "=", account)
    .where("address", "in", addresses)
    .where("scope", "in", ["", domain])
    .where((eb) => isActive(eb, now))
    .execute();
  return rows.map(({ address }) => address);
}

export interface SuppressionFilter {
  address?: string | undefined;
  /** `user@`: every address with this prefix. */
  prefix?: string | undefined;
  reason?: SuppressionReason | undefined;
  scope?: string | undefined;
  /** Any scope except the whole account. */
  scoped?: boolean | undefined;
}

/** The end of a page: in a list by time, or by address for a prefix search. */
export type Position = { createdAt: number; id: string } | { address: string; scope: string };

export async function listSuppressions(
  db: SuppressionExecutor,
  account: string,
  filter: SuppressionFilter,
  { after, limit, now }: { after?: Position | undefined; limit: number; now: number },
): Promise<SuppressionRow[]> {
  let query = db
    .selectFrom("email_suppressions")
    .selectAll()
    .where("account_id", "=", account)
    .where((eb) => isActive(eb, now));
  const { address, prefix, reason, scope, scoped } = filter;
  if (address !== undefined) query = query.where("address", "=", address);
  if (reason !== undefined) query = query.where("reason", "=", reason);
  if (scope !== undefined) query = query.where("scope", "=", scope);
  if (scoped === true) query = query.where("scope", "!=", "");
  // "A" follows "@" in byte order.
  if (prefix !== undefined)
    query = query.where("address", ">=", prefix).where("address", "<", `${prefix.slice(0, -1)}A`);
  if (after !== undefined)
    query = query.where((eb) =>
      "address" in after
        ? isBehind(eb, ["address", after.address], ["scope", after.scope], ">")
        : isBehind(eb, ["created_at", after.createdAt], ["id", after.id], "<"),
    );
  const sortedQuery =
    prefix === undefined
      ? query.orderBy("created_at", "desc").orderBy("id", "desc")
      : query.orderBy("address").orderBy("scope");
  return sortedQuery.limit(limit).execute();
}

type Columns = ExpressionBuilder<SuppressionTables, "email_suppressions">;
type Key = keyof SuppressionRow;

const isActive = (eb: Columns, now: number): Expression<SqlBool> =>
  eb.or([eb("expires_at", "is", null), eb("expires_at", ">", now)]);

/** Written so that both database engines start at this position in the index. */
const isBehind = (
  eb: Columns,
  [first, a]: [Key, string | number],
  [second, b]: [Key, string | number],
  comparison: "<" | ">",
): Expression<SqlBool> =>
  eb.and([
    eb(first, comparison === "<" ? "<=" : ">=", a),
    eb.or([eb(first, comparison, a), eb(second, comparison, b)]),
  ]);

export async function insertSuppressions(db: SuppressionExecutor, rows: readonly SuppressionRow[]): Promise<void> {
  if (rows.length > 0) await db.insertInto("email_suppressions").values(rows).execute();
}

export async function updateSuppression(
  db: SuppressionExecutor,
  id: string,
  change: Partial<SuppressionRow>,
): Promise<void> {
  await db.updateTable("email_suppressions").set(change).where("id", "=", id).execute();
}

export async function deleteSuppressions(db: SuppressionExecutor, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await db.deleteFrom("email_suppressions").where("id", "in", ids).execute();
}

export async function countComplaints(
  db: SuppressionExecutor,
  account: string,
  origin: string,
  from: number,
  to: number,
): Promise<number> {
  const { count } = await db
    .selectFrom("email_suppressions")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("account_id", "=", account)
    .where("origin", "=", origin)
    .where("reason", "=", "complaint")
    .where("noted_at", ">=", from)
    .where("noted_at", "<", to)
    .executeTakeFirstOrThrow();
  return Number(count);
}

export async function sweepSuppressions(db: SuppressionExecutor, now: number, limit: number): Promise<number> {
  const expiredRows = db
    .selectFrom("email_suppressions")
    .select("id")
    .where("expires_at", "<=", now)
    .orderBy("expires_at")
    .orderBy("id")
    .limit(limit);
  const { numDeletedRows } = await db
    .deleteFrom("email_suppressions")
    .where("id", "in", expiredRows)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
