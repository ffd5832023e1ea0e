import { sql, type Kysely } from "kysely";
import { isUniqueViolation, type Db, type Migration } from "../../store/index.ts";
import type { AddedTrack } from "./port.ts";

export interface AudioTrackTables {
  stream_audio_tracks: {
    uid: string;
    video_uid: string;
    account_id: string;
    label: string;
    is_default: 0 | 1;
    status: AddedTrack["status"];
    /** Source URL; null for uploaded files. */
    url: string | null;
    /** AudioSource, as JSON; null until it is ready. */
    source: string | null;
    /** Reason for the failure. */
    error: string | null;
    /** BCP 47 tag. */
    language: string | null;
    /** The job that prepares the track; "" until it is stored. */
    job: string;
    created_at: number;
  };
}

export type AudioTrackRow = AudioTrackTables["stream_audio_tracks"];
type AudioTracksExecutor = Kysely<AudioTrackTables>;

export const audioMigrations: Migration[] = [
  {
    name: "stream-audio-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("stream_audio_tracks")
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
      await db.schema
        .createIndex("stream_audio_tracks_label")
        .on("stream_audio_tracks")
        .columns(["video_uid", "label"])
        .unique()
        .execute();
      await db.schema
        .createIndex("stream_audio_tracks_created")
        .on("stream_audio_tracks")
        .columns(["video_uid", "created_at", "uid"])
        .execute();
      await sql`create index stream_audio_tracks_queued on stream_audio_tracks (created_at) where status = 'queued'`.execute(
        db,
      );
    },
  },
  {
    name: "stream-audio-002",
    async up(db, types) {
      await db.schema.alterTable("stream_audio_tracks").addColumn("language", sql.raw(types.keyText)).execute();
    },
  },
];

const tracksOf = (db: AudioTracksExecutor, video: string) =>
  db.selectFrom("stream_audio_tracks").selectAll().where("video_uid", "=", video).orderBy("created_at").orderBy("uid");
const trackByUid = (db: AudioTracksExecutor, uid: string) =>
  db.selectFrom("stream_audio_tracks").selectAll().where("uid", "=", uid);

export function createTracksTable(db: Db) {
  const tables: AudioTracksExecutor = db.tables<AudioTrackTables>();
  return {
    of: (video: string): Promise<AudioTrackRow[]> => db.read(tracksOf(tables, video)),
    find: async (uid: string): Promise<AudioTrackRow | undefined> => (await db.read(trackByUid(tables, uid)))[0],
    /** Adds missing tracks of the uploaded file; existing ones stay unchanged. False if none was added. */
    importEmbedded: (video: string, rows: readonly AudioTrackRow[], max: number): Promise<boolean> =>
      db.transaction<AudioTrackTables, boolean>(async (tx) => {
        const existingTracks = await tracksOf(tx, video).execute();
        const labels = new Set(existingTracks.map(({ label }) => label));
        const missingRows = rows
          .filter(({ uid }) => existingTracks.every((one) => one.uid !== uid))
          .slice(0, Math.max(0, max - existingTracks.length));
        for (const row of missingRows) {
          let label = row.label;
          for (let n = 2; labels.has(label); n++) label = `${row.label} ${n}`;
          labels.add(label);
          await tx
            .insertInto("stream_audio_tracks")
            .values({ ...row, label })
            .onConflict((conflict) => conflict.doNothing())
            .execute();
        }
        return missingRows.length > 0;
      }),
    /** "full": the video already has `max` tracks. */
    insert: (row: AudioTrackRow, max: number): Promise<"inserted" | "full" | "labelTaken"> =>
      orLabelTaken(
        db.transaction<AudioTrackTables, "inserted" | "full">(async (tx) => {
          if ((await tracksOf(tx, row.video_uid).execute()).length >= max) return "full";
          await tx.insertInto("stream_audio_tracks").values(row).execute();
          return "inserted";
        }),
      ),
    /** Setting the default flag clears it on the other tracks. Undefined if the video has no such track. */
    edit: (
      video: string,
      uid: string,
      { label, isDefault }: { label: string | undefined; isDefault: boolean | undefined },
    ): Promise<AudioTrackRow | "labelTaken" | undefined> =>
      orLabelTaken(
        db.transaction<AudioTrackTables, AudioTrackRow | undefined>(async (tx) => {
          const before = await trackByUid(tx, uid).executeTakeFirst();
          if (before?.video_uid !== video) return undefined;
          const after: AudioTrackRow = {
            ...before,
            ...(label !== undefined && { label }),
            ...(isDefault !== undefined && { is_default: isDefault ? 1 : 0 }),
          };
          if (isDefault === true)
            await tx.updateTable("stream_audio_tracks").set({ is_default: 0 }).where("video_uid", "=", video).execute();
          await tx
            .updateTable("stream_audio_tracks")
            .set({ label: after.label, is_default: after.is_default })
            .where("uid", "=", uid)
            .execute();
          return after;
        }),
      ),
    /** Does not delete the default track. Undefined if the video has no such track. */
    delete: (video: string, uid: string): Promise<"deleted" | "isDefault" | undefined> =>
      db.transaction<AudioTrackTables, "deleted" | "isDefault" | undefined>(async (tx) => {
        const row = await trackByUid(tx, uid).executeTakeFirst();
        if (row?.video_uid !== video) return undefined;
        if (row.is_default === 1) return "isDefault";
        await tx.deleteFrom("stream_audio_tracks").where("uid", "=", uid).execute();
        return "deleted";
      }),
    /** False if the track was deleted. */
    change: async (uid: string, change: Partial<AudioTrackRow>): Promise<boolean> =>
      (await db.write(tables.updateTable("stream_audio_tracks").set(change).where("uid", "=", uid))).affected > 0,
    deleteOf: async (video: string): Promise<void> =>
      void (await db.write(tables.deleteFrom("stream_audio_tracks").where("video_uid", "=", video))),
    queued: (before: number, limit: number): Promise<AudioTrackRow[]> =>
      db.read(
        tables
          .selectFrom("stream_audio_tracks")
          .selectAll()
          .where("status", "=", "queued")
          .where("created_at", "<", before)
          .orderBy("created_at")
          .limit(limit),
      ),
  };
}

export type TracksTable = ReturnType<typeof createTracksTable>;

/** Labels are unique per video: the index enforces this, even for concurrent inserts. */
const orLabelTaken = <T>(work: Promise<T>): Promise<T | "labelTaken"> =>
  work.catch((err: unknown) => {
    if (isUniqueViolation(err)) return "labelTaken";
    throw err;
  });
