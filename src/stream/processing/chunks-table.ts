import { sql } from "kysely";
import type { Db, Migration } from "../../store/index.ts";

interface ChunkTables {
  /** Chunks of videos that are being processed. */
  stream_chunks: {
    video_uid: string;
    chunk: number;
    /** 1: all segments of the chunk are stored. 0: a process has started to encode it. */
    done: number;
  };
}

export const chunksMigrations: Migration[] = [
  {
    name: "stream-chunks-001",
    async up(db, types) {
      await db.schema
        .createTable("stream_chunks")
        .addColumn("video_uid", sql.raw(types.keyText), (column) => column.notNull())
        .addColumn("chunk", "integer", (column) => column.notNull())
        .addColumn("done", "integer", (column) => column.notNull())
        .addPrimaryKeyConstraint("stream_chunks_key", ["video_uid", "chunk"])
        .execute();
    },
  },
];

interface Checkpoints {
  done(uid: string): Promise<Set<number>>;
  /** Resolves with false if a process has started this chunk before: some of its segments may already be stored. */
  begin(uid: string, chunk: number): Promise<boolean>;
  mark(uid: string, chunk: number): Promise<void>;
  /** Called when they are no longer needed. */
  clear(uid: string): Promise<void>;
}

export function createCheckpoints(db: Db): Checkpoints {
  const tables = db.tables<ChunkTables>();
  return {
    async done(uid) {
      const rows = await db.read(
        tables.selectFrom("stream_chunks").select("chunk").where("video_uid", "=", uid).where("done", "=", 1),
      );
      return new Set(rows.map(({ chunk }) => chunk));
    },
    async begin(uid, chunk) {
      const { affected } = await db.write(
        tables
          .insertInto("stream_chunks")
          .values({ video_uid: uid, chunk, done: 0 })
          .onConflict((conflict) => conflict.columns(["video_uid", "chunk"]).doNothing()),
      );
      return affected > 0;
    },
    async mark(uid, chunk) {
      await db.write(
        tables
          .insertInto("stream_chunks")
          .values({ video_uid: uid, chunk, done: 1 })
          .onConflict((conflict) => conflict.columns(["video_uid", "chunk"]).doUpdateSet({ done: 1 })),
      );
    },
    clear: async (uid) => void (await db.write(tables.deleteFrom("stream_chunks").where("video_uid", "=", uid))),
  };
}
