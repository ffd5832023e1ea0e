import { sql, type Kysely } from "kysely";
import type { Db, Migration } from "../../../store/index.ts";
import type { LiveRendition } from "../fragments.ts";
import type { LiveSegment } from "../timeline.ts";

export interface RecordTables {
  stream_live_recordings: {
    video_uid: string;
    /** Null while the broadcast may continue. */
    ended_at: number | null;
  };
  stream_live_runs: {
    video_uid: string;
    run_id: string;
    started_at: number;
    /** JSON. */
    renditions: string;
  };
  stream_live_segments: {
    video_uid: string;
    n: number;
    run_id: string;
    start_s: number;
    /** JSON by rendition, in seconds: durations, and end times on the run timeline. */
    durations: string;
    ends: string;
    /**
     * JSON, seconds by rendition: presentation time of the first sample. Null for segments written by earlier versions.
     */
    starts: string | null;
    /** Octets of all renditions. */
    size: number;
    /** Part of the object keys. Null for segments written by earlier versions. */
    writer: string | null;
  };
}

type SegmentRow = RecordTables["stream_live_segments"];

export const recordMigrations: Migration[] = [
  {
    name: "live-record-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("stream_live_recordings")
        .addColumn("video_uid", key, (column) => column.primaryKey())
        .addColumn("ended_at", "bigint")
        .execute();
      await db.schema
        .createTable("stream_live_runs")
        .addColumn("video_uid", key, (column) => column.notNull())
        .addColumn("run_id", key, (column) => column.notNull())
        .addColumn("started_at", "bigint", (column) => column.notNull())
        .addColumn("renditions", "text", (column) => column.notNull())
        .addPrimaryKeyConstraint("stream_live_runs_key", ["video_uid", "run_id"])
        .execute();
      await db.schema
        .createTable("stream_live_segments")
        .addColumn("video_uid", key, (column) => column.notNull())
        .addColumn("n", "integer", (column) => column.notNull())
        .addColumn("run_id", key, (column) => column.notNull())
        .addColumn("start_s", "double precision", (column) => column.notNull())
        .addColumn("durations", "text", (column) => column.notNull())
        .addColumn("ends", "text", (column) => column.notNull())
        .addColumn("size", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("stream_live_segments_key", ["video_uid", "n"])
        .execute();
    },
  },
  {
    name: "live-record-002-segment-starts",
    async up(db) {
      await db.schema.alterTable("stream_live_segments").addColumn("starts", "text").execute();
    },
  },
  {
    name: "live-record-003-segment-writers",
    async up(db) {
      await db.schema.alterTable("stream_live_segments").addColumn("writer", "text").execute();
    },
  },
];

interface RecordedRun {
  id: string;
  started: number;
  renditions: LiveRendition[];
}

/** A segment with internal fields that are not exposed to players. */
type RecordedSegment = Omit<LiveSegment, "run"> & {
  run: string;
  ends: Record<string, number>;
  size: number;
  writer: string | null;
};

export interface RecordTable {
  /** Resolves with whether the recording has ended; undefined if there is no recording. */
  find(video: string): Promise<{ ended: boolean } | undefined>;
  begin(video: string): Promise<void>;
  end(video: string, now: number): Promise<void>;
  insertRun(video: string, run: RecordedRun): Promise<void>;
  /** Resolves with false if another writer has stored a segment with this number. Idempotent. */
  insertSegment(video: string, segment: RecordedSegment): Promise<boolean>;
  /** Resolves with the runs in any order. */
  runs(video: string): Promise<RecordedRun[]>;
  /** Resolves with the segments from number `from` onwards, in order. */
  segments(video: string, from: number): Promise<RecordedSegment[]>;
  /** Resolves with the segment with the highest number. */
  last(video: string): Promise<RecordedSegment | undefined>;
  size(video: string): Promise<number>;
  delete(video: string): Promise<void>;
}

export function createRecordTable(db: Db): RecordTable {
  const tables: Kysely<RecordTables> = db.tables<RecordTables>();
  const segments = (video: string) =>
    tables.selectFrom("stream_live_segments").selectAll().where("video_uid", "=", video);

  return {
    async find(video) {
      const [row] = await db.read(
        tables.selectFrom("stream_live_recordings").select("ended_at").where("video_uid", "=", video),
      );
      return row && { ended: row.ended_at !== null };
    },
    async begin(video) {
      await db.write(
        tables
          .insertInto("stream_live_recordings")
          .values({ video_uid: video, ended_at: null })
          .onConflict((conflict) => conflict.column("video_uid").doNothing()),
      );
    },
    async end(video, now) {
      await db.write(
        tables
          .insertInto("stream_live_recordings")
          .values({ video_uid: video, ended_at: now })
          .onConflict((conflict) => conflict.column("video_uid").doUpdateSet({ ended_at: now })),
      );
    },
    async insertRun(video, { id, started, renditions }) {
      await db.write(
        tables
          .insertInto("stream_live_runs")
          .values({
            video_uid: video,
            run_id: id,
            started_at: Math.round(started),
            renditions: JSON.stringify(renditions),
          })
          .onConflict((conflict) => conflict.columns(["video_uid", "run_id"]).doNothing()),
      );
    },
    async insertSegment(video, { n, run, start, durations, starts, ends, size, writer }) {
      const { affected } = await db.write(
        tables
          .insertInto("stream_live_segments")
          .values({
            video_uid: video,
            n,
            run_id: run,
            start_s: start,
            durations: JSON.stringify(durations),
            ends: JSON.stringify(ends),
            starts: starts === undefined ? null : JSON.stringify(starts),
            size,
            writer,
          })
          .onConflict((conflict) => conflict.columns(["video_uid", "n"]).doNothing()),
      );
      if (affected > 0) return true;
      const [stored] = await db.read(segments(video).where("n", "=", n));
      return stored?.writer === writer;
    },
    async runs(video) {
      const rows = await db.read(tables.selectFrom("stream_live_runs").selectAll().where("video_uid", "=", video));
      return rows.map(({ run_id: id, started_at: started, renditions }) => ({
        id,
        started,
        renditions: JSON.parse(renditions) as LiveRendition[],
      }));
    },
    segments: async (video, from) => (await db.read(segments(video).where("n", ">=", from).orderBy("n"))).map(fromRow),
    async last(video) {
      const [row] = await db.read(segments(video).orderBy("n", "desc").limit(1));
      return row && fromRow(row);
    },
    async size(video) {
      const [row] = await db.read(
        tables
          .selectFrom("stream_live_segments")
          .select(({ fn }) => fn.sum<number | null>("size").as("size"))
          .where("video_uid", "=", video),
      );
      return Number(row?.size ?? 0);
    },
    async delete(video) {
      for (const table of ["stream_live_segments", "stream_live_runs", "stream_live_recordings"] as const)
        await db.write(tables.deleteFrom(table).where("video_uid", "=", video));
    },
  };
}

function fromRow(row: SegmentRow): RecordedSegment {
  const { n, run_id: run, start_s: start, durations, ends, starts, size, writer } = row;
  return {
    n,
    run,
    start,
    durations: JSON.parse(durations) as Record<string, number>,
    ...(starts !== null && { starts: JSON.parse(starts) as Record<string, number> }),
    ends: JSON.parse(ends) as Record<string, number>,
    size,
    writer,
  };
}
