import { sql } from "kysely";
import { prepareQuery, type Db, type Migration } from "../../store/index.ts";

interface CaptionTables {
  stream_captions: CaptionRow;
}

type CaptionStatus = "ready" | "inprogress" | "error";

export interface CaptionRow {
  video_uid: string;
  /** Canonical BCP 47 tag. */
  language: string;
  account_id: string;
  label: string;
  /** 0 or 1. */
  generated: number;
  status: CaptionStatus;
  /** Object key of the WebVTT file, once it is ready. */
  object_key: string | null;
  /** Id of one generation: late results of earlier ones are discarded. */
  attempt: string | null;
  job: string | null;
  created_at: number;
  modified_at: number;
}

export const streamCaptionsMigrations: Migration[] = [
  {
    name: "stream-captions-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("stream_captions")
        .addColumn("video_uid", key, (column) => column.notNull())
        .addColumn("language", key, (column) => column.notNull())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("label", "text", (column) => column.notNull())
        .addColumn("generated", "integer", (column) => column.notNull())
        .addColumn("status", key, (column) => column.notNull())
        .addColumn("object_key", key)
        .addColumn("attempt", key)
        .addColumn("job", key)
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("modified_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("stream_captions_key", ["video_uid", "language"])
        .execute();
      await sql`create index stream_captions_making on stream_captions (modified_at) where status = 'inprogress'`.execute(
        db,
      );
    },
  },
];

export interface CaptionsTable {
  /** Ordered by language. */
  of(uid: string): Promise<CaptionRow[]>;
  find(uid: string, language: string): Promise<CaptionRow | undefined>;
  /**
   * Stores the row unless `mayReplace` rejects the existing one; in that case returns the existing row. Otherwise
   * returns the object that is now unreferenced. "full": the video already has captions in `max` languages.
   */
  put(
    row: CaptionRow,
    max: number,
    mayReplace?: (existingRow: CaptionRow) => boolean,
  ): Promise<{ replaced?: string | undefined } | { refused: CaptionRow } | "full">;
  /** Stores the result of a generation; false if the row was superseded or deleted. */
  finish(
    uid: string,
    language: string,
    attempt: string,
    end: Pick<CaptionRow, "status" | "object_key" | "modified_at">,
  ): Promise<boolean>;
  setJob(uid: string, language: string, attempt: string, job: string): Promise<void>;
  /** Returns the deleted row. */
  delete(uid: string, language: string): Promise<CaptionRow | undefined>;
  deleteAll(uid: string): Promise<void>;
  /** Resolves with rows in generation without a heartbeat since `before`. */
  generating(before: number, limit: number): Promise<CaptionRow[]>;
}

export function createCaptionsTable(db: Db): CaptionsTable {
  const captions = db.tables<CaptionTables>();
  const captionsOfVideo = prepareQuery((arg) =>
    captions.selectFrom("stream_captions").selectAll().where("video_uid", "=", arg<string>("uid")).orderBy("language"),
  );

  return {
    of: (uid) => db.read(captionsOfVideo({ uid })),
    find: (uid, language) =>
      captions
        .selectFrom("stream_captions")
        .selectAll()
        .where("video_uid", "=", uid)
        .where("language", "=", language)
        .executeTakeFirst(),
    put: (row, max, mayReplace = () => true) =>
      db.transaction<CaptionTables, Awaited<ReturnType<CaptionsTable["put"]>>>(async (tx) => {
        const allCaptions = await tx
          .selectFrom("stream_captions")
          .selectAll()
          .where("video_uid", "=", row.video_uid)
          .execute();
        const existingRow = allCaptions.find(({ language }) => language === row.language);
        if (existingRow === undefined) {
          if (allCaptions.length >= max) return "full";
          await tx.insertInto("stream_captions").values(row).execute();
          return {};
        }
        if (!mayReplace(existingRow)) return { refused: existingRow };
        const { video_uid, language, created_at: _, ...change } = row;
        await tx
          .updateTable("stream_captions")
          .set(change)
          .where("video_uid", "=", video_uid)
          .where("language", "=", language)
          .execute();
        return { replaced: existingRow.object_key ?? undefined };
      }),
    finish: async (uid, language, attempt, end) =>
      (
        await db.write(
          captions
            .updateTable("stream_captions")
            .set(end)
            .where("video_uid", "=", uid)
            .where("language", "=", language)
            .where("attempt", "=", attempt)
            .where("status", "=", "inprogress"),
        )
      ).affected > 0,
    async setJob(uid, language, attempt, job) {
      await db.write(
        captions
          .updateTable("stream_captions")
          .set({ job })
          .where("video_uid", "=", uid)
          .where("language", "=", language)
          .where("attempt", "=", attempt),
      );
    },
    delete: async (uid, language) =>
      (
        await db.write(
          captions
            .deleteFrom("stream_captions")
            .where("video_uid", "=", uid)
            .where("language", "=", language)
            .returningAll(),
        )
      ).rows[0],
    async deleteAll(uid) {
      await db.write(captions.deleteFrom("stream_captions").where("video_uid", "=", uid));
    },
    generating: (before, limit) =>
      captions
        .selectFrom("stream_captions")
        .selectAll()
        .where("status", "=", "inprogress")
        .where("modified_at", "<", before)
        .orderBy("modified_at")
        .limit(limit)
        .execute(),
  };
}
