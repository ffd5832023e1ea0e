import { sql, type Kysely } from "kysely";
import type { Db, Migration } from "../../store/index.ts";
import type { AddedTrack } from "./port.ts";

export interface AudioTrackTables {
  stream_audio_tracks: {
    uid: string;
    video_uid: string;
    account_id: string;
    label: string;
    is_default: 0 | 1;
    status: AddedTrack["status"];
    /** Where it is fetched from; null for what was sent here. */
    url: string | null;
    /** AudioSource, as JSON; null until it is ready. */
    source: string | null;
    /** Why it is of no use. */
    error: string | null;
    /** The job that prepares it; "" until that is on the disk. */
    job: string;
    created_at: number;
  };
}

export type AudioTrackRow = AudioTrackTables["stream_audio_tracks"];
export type AudioTracksExecutor = Kysely<AudioTrackTables>;

export const audioMigrations: Migration[] = [{
  name: "stream-audio-001",
  async up(db, types) {
    const key = sql.raw(types.keyText);
    await db.schema.createTable("stream_audio_tracks")
      .addColumn("uid", key, (column) => column.primaryKey())
      .addColumn("video_uid", key, (column) => column.notNull())
      .addColumn("account_id", key, (column) => column.notNull())
      .addColumn("label", key, (column) => column.notNull())
      .addColumn("is_default", "integer", (column) => column.notNull())
      .addColumn("status", key, (column) => column.notNull())
      .addColumn("url", "text")
      .addColumn("source", "text")
      .addColumn("error", "text")
      .addColumn("job", key, (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .execute();
    await db.schema.createIndex("stream_audio_tracks_label").on("stream_audio_tracks").columns(["video_uid", "label"]).unique().execute();
    await db.schema.createIndex("stream_audio_tracks_created").on("stream_audio_tracks").columns(["video_uid", "created_at", "uid"]).execute();
    await sql`create index stream_audio_tracks_queued on stream_audio_tracks (created_at) where status = 'queued'`.execute(db);
  },
}];

export const tracksOf = (db: AudioTracksExecutor, video: string) => db.selectFrom("stream_audio_tracks").selectAll().where("video_uid", "=", video).orderBy("created_at").orderBy("uid");
export const trackByUid = (db: AudioTracksExecutor, uid: string) => db.selectFrom("stream_audio_tracks").selectAll().where("uid", "=", uid);

export function createTracksTable(db: Db) {
  const tables: AudioTracksExecutor = db.tables<AudioTrackTables>();
  return {
    of: (video: string): Promise<AudioTrackRow[]> => db.read(tracksOf(tables, video)),
    find: async (uid: string): Promise<AudioTrackRow | undefined> => (await db.read(trackByUid(tables, uid)))[0],
    /** False when it was deleted. */
    change: async (uid: string, change: Partial<AudioTrackRow>): Promise<boolean> => (await db.write(tables.updateTable("stream_audio_tracks").set(change).where("uid", "=", uid))).affected > 0,
    deleteOf: async (video: string): Promise<void> => void (await db.write(tables.deleteFrom("stream_audio_tracks").where("video_uid", "=", video))),
    queued: (before: number, limit: number): Promise<AudioTrackRow[]> =>
      db.read(tables.selectFrom("stream_audio_tracks").selectAll().where("status", "=", "queued").where("created_at", "<", before).orderBy("created_at").limit(limit)),
  };
}

export type TracksTable = ReturnType<typeof createTracksTable>;
