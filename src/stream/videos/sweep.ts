import { sql, type SqlBool } from "kysely";
import type { Clock, Log } from "../../kernel/index.ts";
import type { Db, Jobs } from "../../store/index.ts";
import type { Deletions } from "./deletions.ts";
import type { ErrorReason, Video } from "./video.ts";
import { fromRow, noteTouched, type VideosExecutor } from "./videos-table.ts";

export interface SweepParts {
  db: Db;
  tables: VideosExecutor;
  jobs: Jobs;
  clock: Clock;
  log: Log;
  deletions: Deletions;
  enqueue(uid: string): Promise<void>;
  tell(video: Video): Promise<void>;
  fail(uid: string, code: ErrorReason, text?: string): Promise<void>;
  /** Where it still is as `mayBe` wants it. */
  remove(uid: string, mayBe: (video: Video) => boolean): Promise<boolean>;
  isArriving?: (uid: string) => Promise<boolean>;
}

// Written into the SQL: SQLite matches a partial index only with a condition it can read, not with a parameter.
const UNFINISHED = sql<SqlBool>`state in ('downloading', 'queued', 'inprogress')`;
const PENDING = sql<SqlBool>`state = 'pendingupload'`;
const UNTOLD = sql<SqlBool>`told = 0`;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Who is between two writes is not disturbed. */
const BUSY_MS = 10_000;
/** A row that is encoded is written every few seconds. */
const QUIET_MS = 5 * MINUTE;
/** The longest that an address is fetched from, retries included. */
const FETCH_MS = 48 * HOUR;
/** A clip whose source was never put there. */
const SOURCELESS_MS = HOUR;
/** However slowly it arrives, a day after its time an upload is over. */
const ARRIVING_MS = 24 * HOUR;
const BATCH = 200;
/** Of one round: the rest is for the next. */
const ROUNDS = 50;

/** What is done for videos that nobody asks about. Every part is safe to be done twice, and by several machines at once. */
export function createSweep({ db, tables, jobs, clock, log, deletions, enqueue, tell, fail, remove, isArriving }: SweepParts): { recover(): Promise<void>; sweep(): Promise<void> } {
  /** Does `work` for all rows of a question, in batches; a row that stays in the question must be behind `after` then. */
  async function each<Row>(select: (after: Row | undefined) => Promise<Row[]>, work: (row: Row) => Promise<void>): Promise<void> {
    let after: Row | undefined;
    for (let round = 0; round < ROUNDS; round++) {
      const rows = await select(after);
      for (const row of rows) await work(row).catch((err: unknown) => log.warn({ err, video: (row as { uid: string }).uid }, "a video could not be seen to; it is tried again"));
      if (rows.length < BATCH) return;
      after = rows.at(-1);
    }
  }

  const unfinished = tables.selectFrom("stream_videos").select(["uid", "state", "source_key", "job_id", "touched_at", "created_at"]).where(UNFINISHED);
  type Unfinished = { uid: string; state: Video["state"]; source_key: string | null; job_id: string | null; touched_at: number; created_at: number };

  async function resume({ uid, state, source_key: source, job_id: job, touched_at: touched, created_at: created }: Unfinished): Promise<void> {
    const now = clock.now();
    if (state === "downloading") return now - created < FETCH_MS ? undefined : fail(uid, "ERR_FETCH_ORIGIN_ERROR");
    if (source === null) return now - created < SOURCELESS_MS ? undefined : fail(uid, "ERR_UNKNOWN");
    const status = job === null ? undefined : (await jobs.get(job))?.status;
    if (status === "waiting" || status === "running") return;
    // Its first job may have ended well while others fill the ladder: only when nothing is heard of it for long.
    if (state === "inprogress" && now - touched < QUIET_MS) return;
    log.info({ video: uid, state }, "the processing of a video is taken up again");
    await enqueue(uid);
  }

  const due = tables.selectFrom("stream_videos").select("uid").limit(BATCH);
  const expired = tables.selectFrom("stream_videos").select(["uid", "upload_expiry"]).where(PENDING);
  type Expired = { uid: string; upload_expiry: number | null };

  return {
    async recover() {
      const before = clock.now() - BUSY_MS;
      await each<Unfinished>((after) => {
        const query = unfinished.where("touched_at", "<=", before).orderBy("touched_at").orderBy("uid").limit(BATCH);
        return (after === undefined ? query : query.where((eb) => eb(eb.refTuple("touched_at", "uid"), ">", eb.tuple(after.touched_at, after.uid)))).execute();
      }, resume);
      await each(async () => (await tables.selectFrom("stream_videos").selectAll().where(UNTOLD).where("touched_at", "<=", before).orderBy("touched_at").orderBy("uid").limit(BATCH).execute()).map(fromRow), async (video) => {
        // Behind the others, should it fail.
        await noteTouched(db, video.uid, clock.now());
        await tell(video);
      });
      await deletions.recover();
    },
    async sweep() {
      const now = clock.now();
      await each(() => due.where("scheduled_deletion", "<=", now).orderBy("scheduled_deletion").orderBy("uid").execute(), async ({ uid }) => {
        if (await remove(uid, ({ scheduledDeletion }) => scheduledDeletion !== null && scheduledDeletion <= now)) log.info({ video: uid }, "a video was deleted, as it was scheduled");
      });
      await each<Expired>((after) => {
        const query = expired.where("upload_expiry", "<=", now).orderBy("upload_expiry").orderBy("uid").limit(BATCH);
        return (after === undefined ? query : query.where((eb) => eb(eb.refTuple("upload_expiry", "uid"), ">", eb.tuple(after.upload_expiry, after.uid)))).execute();
      }, async ({ uid, upload_expiry: expiry }) => {
        if (now - (expiry ?? 0) < ARRIVING_MS && (await isArriving?.(uid)) === true) return;
        await remove(uid, ({ state, uploadExpiry }) => state === "pendingupload" && uploadExpiry !== null && uploadExpiry <= now);
      });
    },
  };
}
