import { sql } from "kysely";
import { prepareQuery, type Db, type Migration } from "../../store/index.ts";
import type { Chapter } from "./port.ts";

interface ChapterTables {
  stream_chapters: ChaptersRow;
}

interface ChaptersRow {
  video_uid: string;
  account_id: string;
  /** JSON: a list of chapters, sorted by start. */
  chapters: string;
  modified_at: number;
}

export const streamChaptersMigrations: Migration[] = [
  {
    name: "stream-chapters-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("stream_chapters")
        .addColumn("video_uid", key, (column) => column.primaryKey().notNull())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("chapters", "text", (column) => column.notNull())
        .addColumn("modified_at", "bigint", (column) => column.notNull())
        .execute();
    },
  },
];

interface ChaptersTable {
  of(uid: string): Promise<Chapter[]>;
  put(uid: string, account: string, chapters: readonly Chapter[], now: number): Promise<void>;
  delete(uid: string): Promise<void>;
}

export function createChaptersTable(db: Db): ChaptersTable {
  const tables = db.tables<ChapterTables>();
  const chaptersOfVideo = prepareQuery((arg) =>
    tables.selectFrom("stream_chapters").select("chapters").where("video_uid", "=", arg<string>("uid")),
  );
  return {
    async of(uid) {
      const [row] = await db.read(chaptersOfVideo({ uid }));
      return row === undefined ? [] : (JSON.parse(row.chapters) as Chapter[]);
    },
    async put(uid, account, chapters, now) {
      const change = { account_id: account, chapters: JSON.stringify(chapters), modified_at: now };
      await db.write(
        tables
          .insertInto("stream_chapters")
          .values({ video_uid: uid, ...change })
          .onConflict((conflict) => conflict.column("video_uid").doUpdateSet(change)),
      );
    },
    async delete(uid) {
      await db.write(tables.deleteFrom("stream_chapters").where("video_uid", "=", uid));
    },
  };
}
