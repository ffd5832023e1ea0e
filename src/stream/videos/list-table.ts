import { sql, type Expression, type ExpressionBuilder, type SqlBool } from "kysely";
import { isHexId } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import { nameIndexConditions, type VideoNameTables } from "./names-table.ts";
import type { CreatedBound, VideoFilter } from "./port.ts";
import type { ListedVideo } from "./video.ts";
import { foldedName, fromListedRow, nameKey, type VideosExecutor, type VideoTables } from "./videos-table.ts";

const MAX_LIST = 1000;
const FAR_OFFSET = 10_000;

const LISTED_COLUMNS = [
  "uid",
  "account_id",
  "creator",
  "state",
  "name",
  "name_folded",
  "live_input",
  "created_at",
  "modified_at",
  "touched_at",
  "scheduled_deletion",
  "upload_expiry",
  "size",
  "duration_ms",
  "pct_complete",
  "ready",
  "source_key",
  "job_id",
  "told",
  "details",
] as const;

export async function listVideos(database: Db, account: string, filter: VideoFilter): Promise<ListedVideo[]> {
  const found = searchedByIndex(database, account, filter);
  if (found !== undefined) return listFound(found, filter);
  const db = database.tables<VideoTables>();
  const { asc = false, limit = MAX_LIST, offset = 0 } = filter;
  const direction = asc ? "asc" : "desc";
  const end = offset + Math.min(limit, MAX_LIST);
  // At a large offset, skipped rows cost more time than the rows read, and also memory where several lists are joined.
  const filterParts = offset > FAR_OFFSET ? [filter] : splitFilter(filter);
  const listedParts = await Promise.all(
    filterParts.map((part) =>
      db
        .selectFrom("stream_videos")
        .select(LISTED_COLUMNS)
        .where("account_id", "=", account)
        .where((eb) => matchFilter(eb, part))
        .where((eb) => isWithin(eb, filter.created))
        .orderBy("created_at", direction)
        .orderBy("uid", direction)
        .limit(filterParts.length === 1 ? end - offset : end)
        .offset(filterParts.length === 1 ? offset : 0)
        .execute(),
    ),
  );
  if (listedParts.length === 1) return listedParts[0]!.map(fromListedRow);
  const rows = [...new Map(listedParts.flat().map((row) => [row.uid, row])).values()];
  rows.sort((a, b) => (asc ? 1 : -1) * (a.created_at - b.created_at || (a.uid < b.uid ? -1 : 1)));
  return rows.slice(offset, end).map(fromListedRow);
}

/** The videos whose names contain the trigrams of the search; undefined if no index of SQLite can find them. */
function searchedByIndex({ dialect, tables }: Db, account: string, filter: VideoFilter) {
  if (filter.search === undefined) return undefined;
  const conditions = nameIndexConditions(dialect, foldedName(filter.search), filter.created);
  if (conditions === undefined) return undefined;
  return (
    tables<VideoTables & VideoNameTables>()
      .selectFrom("stream_video_names")
      // SQLite does not reorder a cross join.
      .crossJoin("stream_videos")
      .where(sql<SqlBool>`${conditions}`)
      .where("account_id", "=", account)
      .where((eb) => matchFilter(eb as unknown as Columns, filter))
      .where((eb) => isWithin(eb as unknown as Columns, filter.created))
  );
}

async function listFound(
  found: NonNullable<ReturnType<typeof searchedByIndex>>,
  { asc = false, limit = MAX_LIST, offset = 0 }: VideoFilter,
): Promise<ListedVideo[]> {
  const rows = await found
    .select(LISTED_COLUMNS)
    .orderBy("stream_video_names.rowid", asc ? "asc" : "desc")
    .limit(Math.min(limit, MAX_LIST))
    .offset(offset)
    .execute();
  return rows.map(fromListedRow);
}

/**
 * Splits the filter into several that can each use an index in its order: a condition on either of two states in one
 * query would read every video of the account if few match.
 */
function splitFilter(filter: VideoFilter): FilterPart[] {
  const { names, ...rest } = filter;
  const { states, ids } = rest;
  if (ids !== undefined) return [filter];
  if (names !== undefined)
    return [...[...new Set(names)].map((name) => ({ ...rest, onlyName: name })), { ...rest, ids: names }];
  return states !== undefined && states.length > 1
    ? [...new Set(states)].map((state) => ({ ...filter, states: [state] }))
    : [filter];
}

/** One of the requested names, in addition to `name`. */
type FilterPart = VideoFilter & { onlyName?: string };

export async function countVideos(
  database: Db,
  account: string,
  filter: VideoFilter,
): Promise<{ total: number; range: number }> {
  const db = database.tables<VideoTables>();
  const accountQuery = () =>
    (
      searchedByIndex(database, account, { ...filter, created: [] }) ??
      db
        .selectFrom("stream_videos")
        .where("account_id", "=", account)
        .where((eb) => matchFilter(eb, filter))
    ).select(({ fn }) => fn.countAll<number>().as("count"));
  const total = matchesEverything(filter)
    ? await countAll(db, account)
    : Number((await accountQuery().executeTakeFirstOrThrow()).count);
  if ((filter.created ?? []).length === 0) return { total, range: total };
  return {
    total,
    range: Number(
      (
        await accountQuery()
          .where((eb) => isWithin(eb, filter.created))
          .executeTakeFirstOrThrow()
      ).count,
    ),
  };
}

/** Stored alongside the minutes, so nothing is counted. */
async function countAll(db: VideosExecutor, account: string): Promise<number> {
  const row = await db
    .selectFrom("stream_usage")
    .select("videos")
    .where("account_id", "=", account)
    .where("creator", "=", "")
    .executeTakeFirst();
  return row?.videos ?? 0;
}

const NO_FILTERS: ReadonlySet<string> = new Set<keyof VideoFilter>(["created", "asc", "limit", "offset"]);
const matchesEverything = (filter: VideoFilter) =>
  Object.entries(filter).every(([name, value]) => value === undefined || NO_FILTERS.has(name));

type Columns = ExpressionBuilder<VideoTables, "stream_videos">;

function matchFilter(
  eb: Columns,
  { states, creator, type, search, name, names, onlyName, ids, liveInput }: FilterPart,
): Expression<SqlBool> {
  const filters: Expression<SqlBool>[] = [];
  if (states !== undefined) filters.push(isAmong(eb, "state", states));
  if (creator !== undefined) filters.push(isEqual(eb, "creator", creator));
  if (type !== undefined) filters.push(eb("live_input", type === "live" ? "is not" : "is", null));
  if (search !== undefined)
    filters.push(sql<SqlBool>`name_folded like ${`%${foldedName(search).replace(/[\\%_]/g, "\\$&")}%`} escape '\\'`);
  if (name !== undefined) filters.push(eb("name", "=", nameKey(name)));
  if (names !== undefined)
    filters.push(eb.or([isAmong(eb, "name", names.map(nameKey)), isAmong(eb, "uid", names.filter(isHexId))]));
  if (onlyName !== undefined) filters.push(eb("name", "=", nameKey(onlyName)));
  if (ids !== undefined) filters.push(isAmong(eb, "uid", ids.filter(isHexId)));
  if (liveInput !== undefined) filters.push(isEqual(eb, "live_input", liveInput));
  return eb.and(filters);
}

const MATCHES_NOTHING = sql<SqlBool>`1 = 0`;

/** PostgreSQL rejects U+0000 in text, so no stored value contains it. */
const isEqual = (eb: Columns, column: "creator" | "live_input", value: string): Expression<SqlBool> =>
  value.includes("\0") ? MATCHES_NOTHING : eb(column, "=", value);

/** An IN with an empty list is invalid SQL. */
const isAmong = (eb: Columns, column: "state" | "name" | "uid", values: readonly string[]): Expression<SqlBool> =>
  values.length === 0 ? MATCHES_NOTHING : eb(column, "in", values as never);

const OPERATORS = { eq: "=", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const satisfies Record<
  CreatedBound["op"],
  string
>;

const isWithin = (eb: Columns, bounds: readonly CreatedBound[] = []): Expression<SqlBool> =>
  eb.and(bounds.map(({ op, at }) => eb("created_at", OPERATORS[op], at)));
