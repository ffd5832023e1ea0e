import { sql, type SqlBool } from "kysely";
import type { Video } from "./video.ts";
import { fromRow, type VideoRow, type VideosExecutor } from "./videos-table.ts";

/**
 * Maintenance queries: rows that may need processing, in batches, each starting after the last row of the previous one.
 */

// Literals in the SQL: SQLite uses a partial index only if the condition has no parameters.
const IS_UNFINISHED = sql<SqlBool>`state in ('downloading', 'queued', 'inprogress')`;
const IS_PENDING = sql<SqlBool>`state = 'pendingupload'`;
const IS_UNNOTIFIED = sql<SqlBool>`told = 0`;

const BATCH = 200;
/** Maximum number of rounds; the remaining rows follow in the next sweep. */
const MAX_ROUNDS = 50;

export type UnfinishedVideo = Pick<VideoRow, "uid" | "state" | "source_key" | "job_id" | "touched_at" | "created_at">;
type Expired = Pick<VideoRow, "uid" | "upload_expiry">;

export type SweepTable = ReturnType<typeof createSweepTable>;

export function createSweepTable(tables: VideosExecutor) {
  const unfinishedQuery = tables
    .selectFrom("stream_videos")
    .select(["uid", "state", "source_key", "job_id", "touched_at", "created_at"])
    .where(IS_UNFINISHED);
  const expiredQuery = tables.selectFrom("stream_videos").select(["uid", "upload_expiry"]).where(IS_PENDING);

  return {
    /** Rows that have not been written since this time. */
    unfinished: (before: number): AsyncGenerator<UnfinishedVideo> =>
      inBatches((after) => {
        const query = unfinishedQuery
          .where("touched_at", "<=", before)
          .orderBy("touched_at")
          .orderBy("uid")
          .limit(BATCH);
        return (
          after === undefined
            ? query
            : query.where((eb) => eb(eb.refTuple("touched_at", "uid"), ">", eb.tuple(after.touched_at, after.uid)))
        ).execute();
      }),
    /**
     * Finished videos whose listeners have not been notified yet. Notify or touch each one before requesting the next;
     * otherwise the next batch contains it again.
     */
    async *untold(before: number): AsyncGenerator<Video> {
      for await (const row of inBatches(() =>
        tables
          .selectFrom("stream_videos")
          .selectAll()
          .where(IS_UNNOTIFIED)
          .where("touched_at", "<=", before)
          .orderBy("touched_at")
          .orderBy("uid")
          .limit(BATCH)
          .execute(),
      ))
        yield fromRow(row);
    },
    /** Videos due for deletion. Delete each one before requesting the next. */
    due: (now: number): AsyncGenerator<{ uid: string }> =>
      inBatches(() =>
        tables
          .selectFrom("stream_videos")
          .select("uid")
          .where("scheduled_deletion", "<=", now)
          .orderBy("scheduled_deletion")
          .orderBy("uid")
          .limit(BATCH)
          .execute(),
      ),
    /** Uploads that were announced but not started in time. */
    expired: (now: number): AsyncGenerator<Expired> =>
      inBatches((after) => {
        const query = expiredQuery
          .where("upload_expiry", "<=", now)
          .orderBy("upload_expiry")
          .orderBy("uid")
          .limit(BATCH);
        return (
          after === undefined
            ? query
            : query.where((eb) =>
                eb(eb.refTuple("upload_expiry", "uid"), ">", eb.tuple(after.upload_expiry, after.uid)),
              )
        ).execute();
      }),
  };
}

async function* inBatches<Row>(select: (after: Row | undefined) => Promise<Row[]>): AsyncGenerator<Row> {
  let after: Row | undefined;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const rows = await select(after);
    yield* rows;
    if (rows.length < BATCH) return;
    after = rows.at(-1);
  }
}
