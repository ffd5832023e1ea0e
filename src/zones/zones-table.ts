import { sql, type Expression, type ExpressionBuilder, type SqlBool } from "kysely";
import type { Page, PageRequest } from "../kernel/index.ts";
import { offsetOf } from "../kernel/index.ts";
import { prepareQuery } from "../store/index.ts";
import type { ZonesExecutor, ZoneTables } from "./tables.ts";
import type { Zone, ZoneStatus, ZoneType } from "./types.ts";

export type TextOperator = "equal" | "not_equal" | "starts_with" | "ends_with" | "contains";

export interface ZoneQuery {
  /** Visible to the caller: whole accounts and single zones. */
  visible: {
    accounts: readonly string[];
    zones: readonly string[];
    /** Zones that are excluded although their account is visible. */ hidden?: readonly string[];
  };
  name?: { operator: TextOperator; text: string; caseSensitive: boolean } | undefined;
  status?: ZoneStatus | undefined;
  types?: readonly ZoneType[] | undefined;
  /** Accounts that match the requested id or name; each list is a filter. */
  inAccounts?: readonly (readonly string[])[] | undefined;
  /** One matching filter suffices. */
  any?: boolean | undefined;
  order?: "name" | "status" | "account.id" | "account.name" | "plan.id" | undefined;
  /** For sorting by account name: the account ids in that order. */
  accountOrder?: readonly string[] | undefined;
  direction?: "asc" | "desc" | undefined;
}

export async function insertZone(tx: ZonesExecutor, zone: Zone): Promise<void> {
  await tx.insertInto("zones").values(toRow(zone)).execute();
}

export const zoneById = (tables: ZonesExecutor) => {
  const find = prepareQuery((arg) => tables.selectFrom("zones").selectAll().where("id", "=", arg<string>("id")));
  return async (id: string): Promise<Zone | undefined> => {
    const { rows } = await tables.executeQuery(find({ id }).compile());
    return rows[0] && fromRow(rows[0]);
  };
};

export async function zonesByName(db: ZonesExecutor, names: readonly string[]): Promise<Zone[]> {
  if (names.length === 0) return [];
  return (await db.selectFrom("zones").selectAll().where("name", "in", names).execute()).map(fromRow);
}

export async function updateZone(db: ZonesExecutor, { id, ...zone }: Zone): Promise<void> {
  const { id: _, account_id: __, name: ___, serial: ____, created_at: _____, ...row } = toRow({ id, ...zone });
  await db.updateTable("zones").set(row).where("id", "=", id).execute();
}

/**
 * Deletes everything that belongs to the zone. Resolves with the account of the zone, or undefined if there is no such
 * zone.
 */
export async function deleteZone(tx: ZonesExecutor, id: string): Promise<string | undefined> {
  const deletedRow = await tx.deleteFrom("zones").where("id", "=", id).returning("account_id").executeTakeFirst();
  for (const table of ["dns_records", "dns_record_tags", "dns_record_counts"] as const)
    await tx.deleteFrom(table).where("zone_id", "=", id).execute();
  return deletedRow?.account_id;
}

export async function zoneIdsOf(db: ZonesExecutor, account: string, limit: number): Promise<string[]> {
  return (
    await db.selectFrom("zones").select("id").where("account_id", "=", account).orderBy("name").limit(limit).execute()
  ).map(({ id }) => id);
}

export async function countZones(db: ZonesExecutor, account: string): Promise<number> {
  return (
    await db
      .selectFrom("zones")
      .select(({ fn }) => fn.countAll<number>().as("count"))
      .where("account_id", "=", account)
      .executeTakeFirstOrThrow()
  ).count;
}

export async function listZones(db: ZonesExecutor, query: ZoneQuery, page: PageRequest): Promise<Page<Zone>> {
  const where = (eb: ExpressionBuilder<ZoneTables, "zones">) =>
    eb.and([whereVisible(eb, query), ...whereMatches(eb, query)]);
  const { total } = await db
    .selectFrom("zones")
    .select(({ fn }) => fn.countAll<number>().as("total"))
    .where(where)
    .executeTakeFirstOrThrow();
  const direction = query.direction ?? "asc";
  let rows = db.selectFrom("zones").selectAll().where(where);
  if (query.order === "status") rows = rows.orderBy("status", direction);
  if (query.order === "account.id") rows = rows.orderBy("account_id", direction);
  if (query.order === "account.name" && query.accountOrder !== undefined && query.accountOrder.length > 0)
    rows = rows.orderBy(rank(query.accountOrder), direction);
  const foundRows = await rows.orderBy("name", direction).limit(page.perPage).offset(offsetOf(page)).execute();
  return { items: foundRows.map(fromRow), total };
}

const rank = (accounts: readonly string[]) =>
  sql<number>`case account_id ${sql.join(
    accounts.map((id, place) => sql`when ${id} then ${sql.lit(place)}`),
    sql` `,
  )} else ${sql.lit(accounts.length)} end`;

type Builder = ExpressionBuilder<ZoneTables, "zones">;

function whereVisible(eb: Builder, { visible: { accounts, zones, hidden = [] } }: ZoneQuery): Expression<SqlBool> {
  const alternatives: Expression<SqlBool>[] = [];
  if (accounts.length > 0)
    alternatives.push(
      eb.and([eb("account_id", "in", accounts), ...(hidden.length > 0 ? [eb("id", "not in", hidden)] : [])]),
    );
  if (zones.length > 0) alternatives.push(eb("id", "in", zones));
  // An empty OR matches nothing.
  return alternatives.length === 0 ? sql<SqlBool>`1 = 0` : eb.or(alternatives);
}

function whereMatches(eb: Builder, { name, status, types, inAccounts = [], any }: ZoneQuery): Expression<SqlBool>[] {
  const filters: Expression<SqlBool>[] = inAccounts.map((ids) =>
    ids.length === 0 ? sql<SqlBool>`1 = 0` : eb("account_id", "in", ids),
  );
  if (name !== undefined) filters.push(textFilter(eb, name));
  if (status !== undefined) filters.push(eb("status", "=", status));
  if (types !== undefined) filters.push(eb("type", "in", types));
  return filters.length === 0 ? [] : [any === true ? eb.or(filters) : eb.and(filters)];
}

function textFilter(
  eb: Builder,
  { operator, text, caseSensitive }: NonNullable<ZoneQuery["name"]>,
): Expression<SqlBool> {
  const searchText = caseSensitive ? text : text.toLowerCase();
  if (operator === "equal") return eb("name", "=", searchText);
  if (operator === "not_equal") return eb("name", "<>", searchText);
  // Names are lower case, so a pattern with an upper-case letter must match nothing, whereas SQLite's LIKE ignores
  // case.
  if (searchText !== searchText.toLowerCase()) return sql<SqlBool>`1 = 0`;
  return likeText(sql.ref("name"), operator, searchText);
}

/** Applies `operator` to lower-case text; the text is matched literally. */
export function likeText(
  column: Expression<unknown>,
  operator: "starts_with" | "ends_with" | "contains",
  text: string,
): Expression<SqlBool> {
  const literal = text.replace(/[\\%_]/g, "\\$&");
  const pattern = `${operator === "starts_with" ? "" : "%"}${literal}${operator === "ends_with" ? "" : "%"}`;
  return sql<SqlBool>`${column} like ${pattern} escape '\\'`;
}

const toRow = (zone: Zone): ZoneTables["zones"] => ({
  id: zone.id,
  account_id: zone.account,
  name: zone.name,
  type: zone.type,
  status: zone.status,
  paused: Number(zone.paused),
  name_servers: JSON.stringify(zone.nameServers),
  vanity_name_servers: JSON.stringify(zone.vanityNameServers),
  verification_key: zone.verificationKey,
  created_at: zone.createdAt,
  modified_at: zone.modifiedAt,
  activated_at: zone.activatedAt,
  serial: zone.serial,
});

const fromRow = (row: ZoneTables["zones"]): Zone => ({
  id: row.id,
  account: row.account_id,
  name: row.name,
  type: row.type,
  status: row.status,
  paused: row.paused === 1,
  nameServers: JSON.parse(row.name_servers) as string[],
  vanityNameServers: JSON.parse(row.vanity_name_servers) as string[],
  verificationKey: row.verification_key,
  createdAt: row.created_at,
  modifiedAt: row.modified_at,
  activatedAt: row.activated_at,
  serial: row.serial,
});
