import { sql, type ExpressionBuilder, type SelectQueryBuilder } from "kysely";
import type { Db } from "../../store/index.ts";
import { searchKey, entryOf, type EntryRow, type EntryTables } from "./entries-table.ts";
import { activityErrors } from "./errors.ts";
import { messagePrefix } from "./entry-reference.ts";
import type { Entry, EntryPage, EntryQuery } from "./types.ts";

/** Maximum number of entries scanned per page: SQLite blocks everything else during a read. */
const WINDOW = 5000;
const MAX_PAGE = 1000;

/** Creates the search queries of the log. */
export function createSearch(db: Db) {
  const tables = db.tables<EntryTables>();

  return {
    async page(query: EntryQuery): Promise<EntryPage> {
      const limit = Math.min(Math.max(1, query.limit ?? 50), MAX_PAGE);
      const isFiltered =
        query.hidden !== undefined ||
        query.status !== undefined ||
        query.action !== undefined ||
        query.search !== undefined ||
        (query.kind !== undefined && query.zone === undefined) ||
        (query.zone !== undefined && (query.from !== undefined || query.to !== undefined));
      if (!isFiltered) {
        const rows = await db.read(restrictToScope(tables.selectFrom("email_log").selectAll(), query).limit(limit));
        return { items: rows.map(entryOf), next: rows.length < limit ? undefined : cursorOf(rows.at(-1)!) };
      }
      // Last entry of the scan, from which the next page continues.
      const [last] = await db.read<{ at: number; id: string }>(
        restrictToScope(tables.selectFrom("email_log").select(["at", "id"]), query)
          .offset(WINDOW - 1)
          .limit(1),
      );
      const window = restrictToScope(tables.selectFrom("email_log").selectAll(), query).$if(
        last !== undefined,
        (some) => some.where((eb) => eb(eb.refTuple("at", "id"), ">=", eb.tuple(last!.at, last!.id))),
      );
      const rows = await db.read(applyFilter(window, query).limit(limit));
      if (rows.length === limit) return { items: rows.map(entryOf), next: cursorOf(rows.at(-1)!) };
      return { items: rows.map(entryOf), next: last === undefined ? undefined : cursorOf(last) };
    },

    async entry(id: string): Promise<Entry | undefined> {
      const [row] = await db.read(tables.selectFrom("email_log").selectAll().where("id", "=", id));
      return row && entryOf(row);
    },

    /** Resolves with all recipients of a message. */
    async ofMessage(kind: Entry["kind"], message: string): Promise<Entry[]> {
      const prefix = messagePrefix(kind, message);
      return (
        await db.read(
          tables
            .selectFrom("email_log")
            .selectAll()
            .where("id", ">=", prefix)
            .where("id", "<", `${prefix}g`)
            .orderBy("id")
            .limit(MAX_PAGE),
        )
      ).map(entryOf);
    },
  };
}

type Select<Row> = SelectQueryBuilder<EntryTables, "email_log", Row>;

/** Adds the conditions that an index serves, and sorts by newest first. */
function restrictToScope<Row>(
  query: Select<Row>,
  { account, zone, kind, since, until, from, to, after }: EntryQuery,
): Select<Row> {
  let some = query;
  // A zone belongs to one account, so the zone index is the narrower one.
  if (zone !== undefined) {
    some = some.where("zone_id", "=", zone);
    some = kind === undefined ? some.where("kind", "in", ["routing", "sending"]) : some.where("kind", "=", kind);
    if (account !== undefined) some = some.where(sql<string>`account_id || ''`, "=", account);
  } else if (account !== undefined) {
    some = some.where("account_id", "=", account);
    if (to !== undefined) some = some.where("rcpt_key", "=", searchKey(to));
    if (from !== undefined)
      some =
        to === undefined
          ? some.where("from_key", "=", searchKey(from))
          : some.where(sql<string>`from_key || ''`, "=", searchKey(from));
  }
  if (since !== undefined) some = some.where("at", ">=", since);
  if (until !== undefined) some = some.where("at", "<", until);
  if (after !== undefined) {
    const last = readCursor(after);
    some = some.where((eb) => eb(eb.refTuple("at", "id"), "<", eb.tuple(last.at, last.id)));
  }
  return some.orderBy("at", "desc").orderBy("id", "desc");
}

/** Adds the conditions that must be checked row by row. */
function applyFilter<Row>(
  query: Select<Row>,
  { zone, kind, status, action, from, to, search, hidden }: EntryQuery,
): Select<Row> {
  let some = query;
  if (zone === undefined && kind !== undefined) some = some.where("kind", "=", kind);
  if (zone !== undefined && from !== undefined) some = some.where("from_key", "=", searchKey(from));
  if (zone !== undefined && to !== undefined) some = some.where("rcpt_key", "=", searchKey(to));
  if (status !== undefined) some = some.where("status", "=", status);
  if (action !== undefined) some = some.where("action", "=", action);
  for (const hiddenKind of ["routing", "sending"] as const) {
    const zones = hidden?.[hiddenKind] ?? [];
    if (zones.length > 0)
      some = some.where((eb) => eb.or([eb("kind", "!=", hiddenKind), eb("zone_id", "not in", zones)]));
  }
  if (search !== undefined)
    some = some.where((eb) =>
      eb.or((["from_key", "rcpt_key", "subject", "header_id"] as const).map((column) => contains(eb, column, search))),
    );
  return some;
}

function contains(
  eb: ExpressionBuilder<EntryTables, "email_log">,
  column: "from_key" | "rcpt_key" | "subject" | "header_id",
  text: string,
) {
  const pattern = `%${text.toLowerCase().replace(/[\\%_]/g, (sign) => `\\${sign}`)}%`;
  return sql<boolean>`lower(${eb.ref(column)}) like ${pattern} escape '\\'`;
}

const cursorOf = ({ at, id }: Pick<EntryRow, "at" | "id">): string => `${at.toString(36)}-${id}`;

function readCursor(text: string): { at: number; id: string } {
  const cursorMatch = /^([0-9a-z]{1,10})-([0-9a-f]{32})$/.exec(text);
  if (cursorMatch === null) throw activityErrors.badCursor();
  return { at: Number.parseInt(cursorMatch[1]!, 36), id: cursorMatch[2]! };
}
