import { sql } from "kysely";
import { createTrigramExtension, trigramQuery, type Db, type Migration } from "../../store/index.ts";
import type { CreatedBound } from "./port.ts";

export interface VideoNameTables {
  /** Full-text index of SQLite. Its rowids increase with the creation time; see `POSITIONS`. */
  stream_video_names: { rowid: number; folded: string; video: string };
}

/**
 * Rowids per millisecond of creation: rows come from the index newest first, so a list stops at its limit. Searches do
 * not find further videos of the same millisecond.
 */
const POSITIONS = sql.lit(2 ** 11);
/** The largest time whose rowids are safe integers. */
const MAX_TIME = 2 ** 42 - 1;

/**
 * An index of the names for searches by part of a name. On SQLite, triggers maintain it, so that older versions may write
 * videos too. On PostgreSQL it needs the extension pg_trgm; without it, searches read all names.
 */
export const namesMigration: Migration = {
  name: "stream-videos-002-name-search",
  async up(db, types) {
    if (types.bytes !== "blob") {
      const operators = await createTrigramExtension(db);
      if (operators !== undefined)
        await sql`create index stream_videos_name_parts on stream_videos using gin (name_folded ${sql.raw(operators)}) where name_folded is not null`.execute(
          db,
        );
      return;
    }
    const isSameTime = (row: "new" | "old") =>
      sql`rowid >= ${sql.ref(`${row}.created_at`)} * ${POSITIONS} and rowid < (${sql.ref(`${row}.created_at`)} + 1) * ${POSITIONS}`;
    const insert = sql`
      insert into stream_video_names (rowid, folded, video)
      select coalesce(max(rowid) + 1, new.created_at * ${POSITIONS}), new.name_folded, new.uid
      from stream_video_names where ${isSameTime("new")}
      having new.name_folded is not null and coalesce(max(rowid) + 1, 0) < (new.created_at + 1) * ${POSITIONS};`;
    const remove = sql`delete from stream_video_names where ${isSameTime("old")} and video = old.uid;`;
    await sql`create virtual table stream_video_names using fts5(folded, video unindexed, tokenize = 'trigram case_sensitive 1', detail = none, columnsize = 0)`.execute(
      db,
    );
    await sql`create trigger stream_video_names_insert after insert on stream_videos begin ${insert} end`.execute(db);
    await sql`create trigger stream_video_names_delete after delete on stream_videos when old.name_folded is not null begin ${remove} end`.execute(
      db,
    );
    await sql`create trigger stream_video_names_update after update of name_folded on stream_videos when old.name_folded is not new.name_folded begin ${remove} ${insert} end`.execute(
      db,
    );
    await sql`
      insert into stream_video_names (rowid, folded, video)
      select created_at * ${POSITIONS} + n - 1, name_folded, uid
      from (
        select created_at, name_folded, uid, row_number() over (partition by created_at order by uid) as n
        from stream_videos where name_folded is not null
      )
      where n <= ${POSITIONS} order by created_at, n`.execute(db);
  },
};

/** Conditions on `stream_video_names` for a search; undefined if the index cannot serve it. */
export function nameIndexConditions(dialect: Db["dialect"], folded: string, created: readonly CreatedBound[] = []) {
  const match = dialect === "sqlite" ? trigramQuery(folded) : undefined;
  if (match === undefined) return undefined;
  return sql.join<boolean>(
    [
      sql`stream_videos.uid = stream_video_names.video`,
      sql`stream_video_names match ${match}`,
      ...created.flatMap(({ op, at }) => {
        const start = (time: number) => sql`cast(${Math.max(0, Math.min(time, MAX_TIME))} as integer) * ${POSITIONS}`;
        return [
          ...(op === "eq" || op === "gte" ? [sql`stream_video_names.rowid >= ${start(at)}`] : []),
          ...(op === "gt" ? [sql`stream_video_names.rowid >= ${start(at + 1)}`] : []),
          ...(op === "eq" || op === "lte" ? [sql`stream_video_names.rowid < ${start(at + 1)}`] : []),
          ...(op === "lt" ? [sql`stream_video_names.rowid < ${start(at)}`] : []),
        ];
      }),
    ],
    sql` and `,
  );
}
