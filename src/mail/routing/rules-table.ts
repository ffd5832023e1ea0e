import { createHash } from "node:crypto";
import { sql, type ExpressionBuilder, type SelectQueryBuilder } from "kysely";
import { readPage, type Page, type PageRequest } from "../../kernel/index.ts";
import { rowCount } from "../../store/index.ts";
import { addressByKey, type AddressExecutor } from "../addresses/index.ts";
import { recipientKey, readRecipient } from "../recipient.ts";
import { ACCOUNT_RULE_COUNTS, ZONE_RULE_COUNTS, type RoutingExecutor, type RoutingTables } from "./tables.ts";
import type { RuleAction, Matcher, Rule } from "./types.ts";

type Row = RoutingTables["email_routing_rules"];

/** Returns the normalized address of a literal matcher, for comparison with recipients. */
export const targetOf = (matcher: Matcher): string | null =>
  matcher.type === "literal" ? addressKey(matcher.value) : null;
export const destinationsOf = (action: RuleAction): string[] =>
  action.type === "forward" ? action.value.map(addressKey) : [];
const addressKey = (address: string) => recipientKey(readRecipient(address)!);

/** The catch-all rule exists even before it has a row: its id is derived from the zone's. */
export const catchAllId = (zone: string): string =>
  createHash("sha256").update(`catch-all rule of ${zone}`).digest("hex").slice(0, 32);

/** Rules in the order of evaluation, with the catch-all rule last if it has a row. */
export async function rulesOf(db: RoutingExecutor, zone: string): Promise<Rule[]> {
  const rows = await db
    .selectFrom("email_routing_rules")
    .selectAll()
    .where("zone_id", "=", zone)
    .orderBy("catch_all")
    .orderBy("priority")
    .orderBy("created_at")
    .orderBy("id")
    .execute();
  return rows.map(fromRow);
}

export async function ruleById(db: RoutingExecutor, zone: string, id: string): Promise<Rule | undefined> {
  const row = await db
    .selectFrom("email_routing_rules")
    .selectAll()
    .where("id", "=", id)
    .where("zone_id", "=", zone)
    .executeTakeFirst();
  return row && fromRow(row);
}

export interface ZoneRuleQuery {
  enabled?: boolean | undefined;
  /** Default: the order of evaluation, by priority. */
  order?: "created" | "priority" | undefined;
  direction?: "asc" | "desc" | undefined;
}

const ORDERS = {
  priority: ["catch_all", "priority", "created_at", "id"],
  created: ["catch_all", "created_at", "id"],
} as const;

/** Rules of a zone, without the catch-all rule. */
export async function pageOfRules(
  db: RoutingExecutor,
  zone: string,
  { enabled, order = "priority", direction = "asc" }: ZoneRuleQuery,
  page: PageRequest,
): Promise<Page<Rule>> {
  const matchingRules = db
    .selectFrom("email_routing_rules")
    .where("zone_id", "=", zone)
    .where("catch_all", "=", 0)
    .$if(enabled !== undefined, (some) => some.where("enabled", "=", Number(enabled)));
  const total = enabled === undefined ? await countRules(db, zone) : await countOf(matchingRules);
  const rows = await readPage(page, total, ({ offset, limit, reversed }) =>
    ORDERS[order]
      .reduce(
        (some, column) => some.orderBy(column, reversed === (direction === "asc") ? "desc" : "asc"),
        matchingRules.selectAll(),
      )
      .limit(limit)
      .offset(offset)
      .execute(),
  );
  return { items: rows.map(fromRow), total };
}

const countOf = async (rules: SelectQueryBuilder<RoutingTables, "email_routing_rules", object>): Promise<number> =>
  Number((await rules.select(({ fn }) => fn.countAll<number>().as("total")).executeTakeFirstOrThrow()).total);

export async function catchAllRule(db: RoutingExecutor, zone: string): Promise<Rule | undefined> {
  const row = await db
    .selectFrom("email_routing_rules")
    .selectAll()
    .where("zone_id", "=", zone)
    .where("catch_all", "=", 1)
    .executeTakeFirst();
  return row && fromRow(row);
}

/** The number of rules without the catch-all rule. */
export const countRules = (db: RoutingExecutor, zone: string): Promise<number> => rowCount(db, ZONE_RULE_COUNTS, zone);

/** Counts rules with a glob or a regular expression. */
export async function countPatterns(db: RoutingExecutor, zone: string): Promise<number> {
  const { count } = await db
    .selectFrom("email_routing_rules")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("zone_id", "=", zone)
    // A literal: SQLite uses a partial index only if the condition has no parameters.
    .where("catch_all", "=", sql.lit(0))
    .where("target", "is", null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

export interface AccountRuleQuery {
  enabled?: boolean | undefined;
  direction?: "asc" | "desc" | undefined;
  /** Zones whose rules are omitted. */
  hidden?: readonly string[];
}

/** Rules in the order of creation. */
export async function rulesOfAccount(
  db: RoutingExecutor,
  account: string,
  { enabled, direction = "asc", hidden = [] }: AccountRuleQuery,
  page: PageRequest,
): Promise<Page<Rule>> {
  const all = db
    .selectFrom("email_routing_rules")
    .where("account_id", "=", account)
    .$if(hidden.length > 0, (some) => some.where("zone_id", "not in", hidden));
  const matchingRules = enabled === undefined ? all : all.where("enabled", "=", Number(enabled));
  const total =
    enabled === undefined && hidden.length === 0
      ? await rowCount(db, ACCOUNT_RULE_COUNTS, account)
      : await countOf(matchingRules);
  const rows = await readPage(page, total, ({ offset, limit, reversed }) => {
    const order = reversed === (direction === "asc") ? "desc" : "asc";
    return matchingRules
      .selectAll()
      .orderBy("created_at", order)
      .orderBy("id", order)
      .limit(limit)
      .offset(offset)
      .execute();
  });
  return { items: rows.map(fromRow), total };
}

/** Rules from a worker's configuration file. */
export const rulesOwnedBy = async (db: RoutingExecutor, account: string, owner: string): Promise<Rule[]> =>
  (
    await db
      .selectFrom("email_routing_rules")
      .selectAll()
      .where("account_id", "=", account)
      .where("owner", "=", owner)
      .orderBy("zone_id")
      .orderBy("created_at")
      .orderBy("id")
      .execute()
  ).map(fromRow);

/** Inserts or updates a rule. */
export async function upsertRule(db: RoutingExecutor, rule: Rule): Promise<void> {
  const { id, created_at, ...changing } = toRow(rule);
  await db
    .insertInto("email_routing_rules")
    .values({ id, created_at, ...changing })
    .onConflict((conflict) => conflict.column("id").doUpdateSet(changing))
    .execute();
}

export async function deleteRule(db: RoutingExecutor, id: string): Promise<boolean> {
  return (await db.deleteFrom("email_routing_rules").where("id", "=", id).returning("id").execute()).length > 0;
}

/**
 * Enables or disables the rules that forward to a destination address after it was verified or deleted. Returns their
 * zones.
 */
export async function updateRulesOfDestination(
  db: RoutingExecutor,
  account: string,
  destination: string,
  to: "verified" | "unverified" | "deleted",
  now: number,
): Promise<string[]> {
  const updateQuery = db
    .updateTable("email_routing_rules")
    .where("account_id", "=", account)
    .where((eb) => eb.or([eb("destination", "=", destination), contains(eb, destination)]));
  const awaitedDestinations = to === "verified" ? await stillAwaiting(db, account, destination) : [];
  const changedRules =
    to === "verified"
      ? updateQuery
          .set({ enabled: 1, awaiting: 0, modified_at: now })
          .where("awaiting", "=", 1)
          .$if(awaitedDestinations.length > 0, (some) => some.where("id", "not in", awaitedDestinations))
      : to === "unverified"
        ? updateQuery.set({ enabled: 0, awaiting: 1, modified_at: now }).where("enabled", "=", 1)
        : updateQuery
            .set({ enabled: 0, awaiting: 0, modified_at: now })
            .where(({ eb, or }) => or([eb("enabled", "=", 1), eb("awaiting", "=", 1)]));
  return [...new Set((await changedRules.returning("zone_id").execute()).map(({ zone_id }) => zone_id))];
}

/** Renames a worker in the rules that refer to it. Returns the zones of these rules. */
export async function renameWorker(
  db: RoutingExecutor,
  { account, from, to }: { account: string; from: string; to: string },
): Promise<string[]> {
  const action = (name: string) => JSON.stringify({ type: "worker", value: [name] } satisfies RuleAction);
  const rows = await db
    .updateTable("email_routing_rules")
    .set({ action: action(to) })
    .where("account_id", "=", account)
    .where("action", "=", action(from))
    .returning("zone_id")
    .execute();
  return [...new Set(rows.map(({ zone_id }) => zone_id))];
}

/** Matches forwards to several addresses that include this one. The column stores one address per line. */
function contains(eb: ExpressionBuilder<RoutingTables, "email_routing_rules">, destination: string) {
  const pattern = `%\n${destination.replace(/[\\%_]/g, (sign) => `\\${sign}`)}\n%`;
  return sql<boolean>`${eb.ref("destinations")} like ${pattern} escape '\\'`;
}

/** Returns ids of rules with this destination that still have another, unverified one. */
async function stillAwaiting(db: RoutingExecutor, account: string, destination: string): Promise<string[]> {
  const rows = await db
    .selectFrom("email_routing_rules")
    .select(["id", "destinations"])
    .where("account_id", "=", account)
    .where("awaiting", "=", 1)
    .where((eb) => contains(eb, destination))
    .execute();
  const awaitedDestinations: string[] = [];
  for (const { id, destinations } of rows) {
    for (const other of linesOf(destinations)) {
      if (other === destination) continue;
      const address = await addressByKey(db as unknown as AddressExecutor, account, other);
      if (address === undefined || address.verifiedAt === null) awaitedDestinations.push(id);
    }
  }
  return awaitedDestinations;
}

const linesOf = (text: string | null): string[] => (text ?? "").split("\n").filter((line) => line !== "");

function destinationColumns(action: RuleAction): Pick<Row, "destination" | "destinations"> {
  const all = destinationsOf(action);
  return { destination: all[0] ?? null, destinations: all.length > 1 ? `\n${all.join("\n")}\n` : null };
}

const toRow = (rule: Rule): Row => ({
  id: rule.id,
  zone_id: rule.zone,
  account_id: rule.account,
  catch_all: Number(rule.matcher.type === "all"),
  name: rule.name,
  enabled: Number(rule.enabled),
  awaiting: Number(rule.awaiting),
  priority: rule.priority,
  matcher: JSON.stringify(rule.matcher),
  action: JSON.stringify(rule.action),
  target: targetOf(rule.matcher),
  ...destinationColumns(rule.action),
  source: rule.source,
  owner: rule.owner,
  created_at: rule.createdAt,
  modified_at: rule.modifiedAt,
});

const fromRow = (row: Row): Rule => ({
  id: row.id,
  zone: row.zone_id,
  account: row.account_id,
  name: row.name,
  enabled: row.enabled === 1,
  awaiting: row.awaiting === 1,
  priority: row.priority,
  matcher: JSON.parse(row.matcher) as Matcher,
  action: JSON.parse(row.action) as RuleAction,
  source: row.source,
  owner: row.owner,
  createdAt: row.created_at,
  modifiedAt: row.modified_at,
});
