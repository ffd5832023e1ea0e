import { sql } from "kysely";
import { createGroupCommitter, prepareQuery, type Db, type Migration } from "../../../store/index.ts";

interface ViewersTables {
  stream_live_viewers: {
    input_uid: string;
    /** Process that the viewers are connected to. */
    process_id: string;
    /** See `sketch.ts`. */
    viewers: string;
    /** Epoch milliseconds. */
    noted_at: number;
  };
}

export const liveViewersMigrations: Migration[] = [
  {
    name: "live-viewers-001",
    async up(db, types) {
      await db.schema
        .createTable("stream_live_viewers")
        .addColumn("input_uid", sql.raw(types.keyText), (column) => column.notNull())
        .addColumn("process_id", sql.raw(types.keyText), (column) => column.notNull())
        .addColumn("viewers", "text", (column) => column.notNull())
        .addColumn("noted_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("stream_live_viewers_key", ["input_uid", "process_id"])
        .execute();
      await db.schema.createIndex("stream_live_viewers_noted").on("stream_live_viewers").column("noted_at").execute();
    },
  },
];

export function createViewersTable(db: Db) {
  const tables = db.tables<ViewersTables>();
  const commits = createGroupCommitter(db);
  const upsertViewers = prepareQuery((arg) =>
    tables
      .insertInto("stream_live_viewers")
      .values({ input_uid: arg("input"), process_id: arg("process"), viewers: arg("viewers"), noted_at: arg("at") })
      .onConflict((conflict) =>
        conflict
          .columns(["input_uid", "process_id"])
          .doUpdateSet((eb) => ({ viewers: eb.ref("excluded.viewers"), noted_at: eb.ref("excluded.noted_at") })),
      ),
  );

  return {
    note: (entries: readonly { input: string; process: string; viewers: string; at: number }[]): Promise<void> =>
      commits.writeAtomically(entries.map((entry) => upsertViewers({ ...entry }))),

    /** Resolves with the rows of all other processes. */
    async ofOthers(input: string, process: string, since: number): Promise<string[]> {
      const rows = await tables
        .selectFrom("stream_live_viewers")
        .select("viewers")
        .where("input_uid", "=", input)
        .where("process_id", "!=", process)
        .where("noted_at", ">=", since)
        .limit(100)
        .execute();
      return rows.map(({ viewers }) => viewers);
    },

    async forget({ before, process }: { before: number; process?: string }): Promise<void> {
      const old = tables.deleteFrom("stream_live_viewers");
      await db.write(
        process === undefined ? old.where("noted_at", "<", before) : old.where("process_id", "=", process),
      );
    },
  };
}
