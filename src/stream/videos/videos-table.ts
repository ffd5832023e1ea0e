import { sql, type Kysely } from "kysely";
import { isHexId } from "../../kernel/index.ts";
import { prepareQuery, type Db, type Migration } from "../../store/index.ts";
import type { MediaModel } from "../model.ts";
import { namesMigration } from "./names-table.ts";
import { metaString, type ListedVideo, type Video, type VideoState } from "./video.ts";

export interface VideoTables {
  stream_videos: VideoRow;
  stream_usage: {
    account_id: string;
    /** "" represents the whole account. */
    creator: string;
    videos: number;
    used_ms: number;
    reserved_ms: number;
  };
  stream_deletions: { uid: string; account_id: string; deleted_at: number };
}

export interface VideoRow {
  uid: string;
  account_id: string;
  creator: string | null;
  state: VideoState;
  /** The beginning of meta.name: unchanged, and case-folded for searching. */
  name: string | null;
  name_folded: string | null;
  live_input: string | null;
  created_at: number;
  modified_at: number;
  /** Time of any write to the row; progress does not count as a modification. */
  touched_at: number;
  scheduled_deletion: number | null;
  upload_expiry: number | null;
  size: number;
  /** -1 if unknown. */
  duration_ms: number;
  pct_complete: number;
  ready: 0 | 1;
  source_key: string | null;
  /** The video's processing job. */
  job_id: string | null;
  /** 0: processing has ended, but listeners still have to be notified. */
  told: 0 | 1;
  /** JSON of all fields that are not searched. */
  details: string;
  /** As JSON; the last column, so that lists do not read it. */
  model: string | null;
}

export type VideosExecutor = Kysely<VideoTables>;

export const videosMigrations: Migration[] = [
  {
    name: "stream-videos-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("stream_videos")
        .addColumn("uid", key, (column) => column.primaryKey())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("creator", key)
        .addColumn("state", key, (column) => column.notNull())
        .addColumn("name", key)
        .addColumn("name_folded", key)
        .addColumn("live_input", key)
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("modified_at", "bigint", (column) => column.notNull())
        .addColumn("touched_at", "bigint", (column) => column.notNull())
        .addColumn("scheduled_deletion", "bigint")
        .addColumn("upload_expiry", "bigint")
        .addColumn("size", "bigint", (column) => column.notNull())
        .addColumn("duration_ms", "bigint", (column) => column.notNull())
        .addColumn("pct_complete", "double precision", (column) => column.notNull())
        .addColumn("ready", "integer", (column) => column.notNull())
        .addColumn("source_key", key)
        .addColumn("job_id", key)
        .addColumn("told", "integer", (column) => column.notNull())
        .addColumn("details", "text", (column) => column.notNull())
        .addColumn("model", "text")
        .execute();
      await db.schema
        .createIndex("stream_videos_created")
        .on("stream_videos")
        .columns(["account_id", "created_at", "uid"])
        .execute();
      await db.schema
        .createIndex("stream_videos_creator")
        .on("stream_videos")
        .columns(["account_id", "creator", "created_at", "uid"])
        .execute();
      await db.schema
        .createIndex("stream_videos_state")
        .on("stream_videos")
        .columns(["account_id", "state", "created_at", "uid"])
        .execute();
      await db.schema
        .createIndex("stream_videos_name")
        .on("stream_videos")
        .columns(["account_id", "name", "created_at", "uid"])
        .execute();
      await sql`create index stream_videos_live on stream_videos (account_id, live_input, created_at, uid) where live_input is not null`.execute(
        db,
      );
      await sql`create index stream_videos_deletion on stream_videos (scheduled_deletion, uid) where scheduled_deletion is not null`.execute(
        db,
      );
      await sql`create index stream_videos_expiry on stream_videos (upload_expiry, uid) where upload_expiry is not null and state = 'pendingupload'`.execute(
        db,
      );
      await sql`create index stream_videos_unfinished on stream_videos (touched_at, uid) where state in ('downloading', 'queued', 'inprogress')`.execute(
        db,
      );
      await sql`create index stream_videos_untold on stream_videos (touched_at, uid) where told = 0`.execute(db);
      await db.schema
        .createTable("stream_usage")
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("creator", key, (column) => column.notNull())
        .addColumn("videos", "bigint", (column) => column.notNull())
        .addColumn("used_ms", "bigint", (column) => column.notNull())
        .addColumn("reserved_ms", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("stream_usage_key", ["account_id", "creator"])
        .execute();
      await db.schema
        .createTable("stream_deletions")
        .addColumn("uid", key, (column) => column.primaryKey())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("deleted_at", "bigint", (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex("stream_deletions_time")
        .on("stream_deletions")
        .columns(["deleted_at", "uid"])
        .execute();
    },
  },
  namesMigration,
];

/** Names are compared up to this length. */
const MAX_NAME_LENGTH = 250;
/** PostgreSQL rejects U+0000 in text. */
export const nameKey = (name: string): string => name.replaceAll("\0", "").slice(0, MAX_NAME_LENGTH).toWellFormed();
/** Returns the name in composed form and lower case: "É" equals "é", in any Unicode form. */
export const foldedName = (name: string): string => nameKey(name.normalize("NFC").toLowerCase());

type Details = Pick<
  Video,
  | "step"
  | "errorReason"
  | "meta"
  | "uploaded"
  | "readyToStreamAt"
  | "allowedOrigins"
  | "requireSignedURLs"
  | "maxSizeBytes"
  | "maxDurationSeconds"
  | "input"
  | "thumbnailTimestampPct"
  | "watermark"
  | "clippedFrom"
  | "clip"
  | "publicDetails"
> & { duration: number };

function toRow(video: Video): Omit<VideoRow, "touched_at" | "job_id" | "told"> {
  const {
    uid,
    account,
    creator,
    state,
    pctComplete,
    created,
    modified,
    readyToStream,
    scheduledDeletion,
    size,
    uploadExpiry,
    duration,
    liveInput,
    sourceKey,
    model,
    ...rest
  } = video;
  const details: Details = { ...rest, duration };
  const name = metaString(video.meta, "name");
  return {
    uid,
    account_id: account,
    creator,
    state,
    name: name === undefined ? null : nameKey(name),
    name_folded: name === undefined ? null : foldedName(name),
    live_input: liveInput ?? null,
    created_at: created,
    modified_at: modified,
    scheduled_deletion: scheduledDeletion,
    upload_expiry: uploadExpiry,
    size,
    duration_ms: duration < 0 ? -1 : Math.round(duration * 1000),
    pct_complete: pctComplete,
    ready: readyToStream ? 1 : 0,
    source_key: sourceKey,
    details: JSON.stringify(details),
    model: model === null ? null : JSON.stringify(model),
  };
}

export const fromRow = (row: VideoRow): Video => ({
  ...fromListedRow(row),
  model: row.model === null ? null : (JSON.parse(row.model) as MediaModel),
});

export function fromListedRow(row: Omit<VideoRow, "model">): ListedVideo {
  return {
    ...(JSON.parse(row.details) as Details),
    uid: row.uid,
    account: row.account_id,
    creator: row.creator,
    state: row.state,
    pctComplete: row.pct_complete,
    created: row.created_at,
    modified: row.modified_at,
    readyToStream: row.ready === 1,
    scheduledDeletion: row.scheduled_deletion,
    size: row.size,
    uploadExpiry: row.upload_expiry,
    sourceKey: row.source_key,
    ...(row.live_input !== null && { liveInput: row.live_input }),
  };
}

export const videoByUid = (db: VideosExecutor) => {
  const find = prepareQuery((arg) => db.selectFrom("stream_videos").selectAll().where("uid", "=", arg<string>("uid")));
  return async (uid: string): Promise<Video | undefined> => {
    if (!isHexId(uid)) return undefined;
    const { rows } = await db.executeQuery(find({ uid }).compile());
    return rows[0] && fromRow(rows[0]);
  };
};

export async function insertVideo(tx: VideosExecutor, video: Video, now: number): Promise<void> {
  await tx
    .insertInto("stream_videos")
    .values({ ...toRow(video), touched_at: now, job_id: null, told: 1 })
    .execute();
}

export async function updateVideo(
  tx: VideosExecutor,
  video: Video,
  extraFields: { touched_at: number; told?: 0 | 1 },
): Promise<void> {
  const { uid, account_id: _, created_at: __, ...row } = toRow(video);
  await tx
    .updateTable("stream_videos")
    .set({ ...row, ...extraFields })
    .where("uid", "=", uid)
    .execute();
}

/** Resolves with the number of videos queued or being processed; stops counting at `maxCount`. */
export async function countUnfinished(
  db: VideosExecutor,
  account: string,
  states: readonly VideoState[],
  maxCount: number,
): Promise<number> {
  const matchingQuery = db
    .selectFrom("stream_videos")
    .select("uid")
    .where("account_id", "=", account)
    .where("state", "in", states)
    .limit(maxCount);
  const { count } = await db
    .selectFrom(matchingQuery.as("some"))
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Moves the video from its table to the deletion list. */
export async function moveToDeletions(
  tx: VideosExecutor,
  { uid, account }: Pick<Video, "uid" | "account">,
  now: number,
): Promise<void> {
  await tx.deleteFrom("stream_videos").where("uid", "=", uid).execute();
  await tx
    .insertInto("stream_deletions")
    .values({ uid, account_id: account, deleted_at: now })
    .onConflict((conflict) => conflict.column("uid").doNothing())
    .execute();
}

/** Resolves with the time of deletion; undefined if no data of the video is left. */
export async function findDeletionTime(db: VideosExecutor, uid: string): Promise<number | undefined> {
  return (await db.selectFrom("stream_deletions").select("deleted_at").where("uid", "=", uid).executeTakeFirst())
    ?.deleted_at;
}

/** Resolves with videos deleted before this time, oldest first, that may still have data. */
export async function listDeletedBefore(db: VideosExecutor, time: number, maxRows: number): Promise<string[]> {
  const rows = await db
    .selectFrom("stream_deletions")
    .select("uid")
    .where("deleted_at", "<", time)
    .orderBy("deleted_at")
    .orderBy("uid")
    .limit(maxRows)
    .execute();
  return rows.map(({ uid }) => uid);
}

export async function removeDeletion(db: Db, uid: string): Promise<void> {
  await db.write(db.tables<VideoTables>().deleteFrom("stream_deletions").where("uid", "=", uid));
}

/** Records the job that processes the video; a row without a job, or with a finished one, is resumed. */
export async function recordJob(db: Db, uid: string, job: string, now: number): Promise<void> {
  await db.write(
    db.tables<VideoTables>().updateTable("stream_videos").set({ job_id: job, touched_at: now }).where("uid", "=", uid),
  );
}

export async function markNotified(db: Db, uid: string): Promise<void> {
  await db.write(db.tables<VideoTables>().updateTable("stream_videos").set({ told: 1 }).where("uid", "=", uid));
}

export async function touchVideo(db: Db, uid: string, now: number): Promise<void> {
  await db.write(db.tables<VideoTables>().updateTable("stream_videos").set({ touched_at: now }).where("uid", "=", uid));
}
