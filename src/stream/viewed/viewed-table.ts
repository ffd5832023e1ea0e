import { sql } from "kysely";
import { createGroupCommitter, prepareQuery, type Db, type Migration } from "../../store/index.ts";

interface ViewedTables {
  stream_viewed: {
    account_id: string;
    /** Hours since the epoch, UTC. */
    hour: number;
    /** Milliseconds of video sent to viewers. */
    viewed_ms: number;
  };
}

export const viewedMigrations: Migration[] = [
  {
    name: "stream-viewed-001",
    async up(db, types) {
      await db.schema
        .createTable("stream_viewed")
        .addColumn("account_id", sql.raw(types.keyText), (column) => column.notNull())
        .addColumn("hour", "bigint", (column) => column.notNull())
        .addColumn("viewed_ms", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("stream_viewed_key", ["account_id", "hour"])
        .execute();
      await db.schema.createIndex("stream_viewed_hour").on("stream_viewed").columns(["hour", "account_id"]).execute();
    },
  },
];

export interface ViewedHour {
  account: string;
  hour: number;
  ms: number;
}

export function createViewedTable(db: Db) {
  const tables = db.tables<ViewedTables>();
  const commits = createGroupCommitter(db);
  const add = prepareQuery((arg) =>
    tables
      .insertInto("stream_viewed")
      .values({ account_id: arg("account"), hour: arg("hour"), viewed_ms: arg("ms") })
      .onConflict((conflict) =>
        conflict
          .columns(["account_id", "hour"])
          .doUpdateSet((eb) => ({ viewed_ms: eb("stream_viewed.viewed_ms", "+", eb.ref("excluded.viewed_ms")) })),
      ),
  );

  return {
    add: (hours: readonly ViewedHour[]): Promise<void> =>
      commits.writeAtomically(hours.map((viewedHour) => add({ ...viewedHour }))),

    /** Hours from `from` to `to`, both inclusive, in order. */
    async between(account: string, from: number, to: number): Promise<Omit<ViewedHour, "account">[]> {
      const rows = await tables
        .selectFrom("stream_viewed")
        .select(["hour", "viewed_ms"])
        .where("account_id", "=", account)
        .where("hour", ">=", from)
        .where("hour", "<=", to)
        .orderBy("hour")
        .execute();
      return rows.map(({ hour, viewed_ms: ms }) => ({ hour, ms }));
    },

    async deleteBefore(before: number): Promise<void> {
      await db.write(tables.deleteFrom("stream_viewed").where("hour", "<", before));
    },
  };
}
