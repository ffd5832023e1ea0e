import type { GroupCommitter, Db, Migration } from "../../../store/index.ts";
import { sql } from "kysely";

/**
 * A destination or host that runners do not try for a while after failures. A row with `until` in the past has no
 * effect.
 */
export interface Pause {
  /** The destination, or the host as `mx1.example.com [192.0.2.1]:25`. */
  name: string;
  kind: "destination" | "host";
  /** Epoch milliseconds. */
  until: number;
  why: string;
}

interface PauseRow {
  name: string;
  kind: Pause["kind"];
  paused_until: number;
  why: string;
}

interface PauseTables {
  outbound_pauses: PauseRow;
}

export const pausesMigration: Migration = {
  name: "mail-outbound-pauses-001",
  async up(db, types) {
    await db.schema
      .createTable("outbound_pauses")
      .addColumn("name", sql.raw(types.keyText), (column) => column.primaryKey())
      .addColumn("kind", "text", (column) => column.notNull())
      .addColumn("paused_until", "bigint", (column) => column.notNull())
      .addColumn("why", "text", (column) => column.notNull())
      .execute();
    await db.schema.createIndex("outbound_pauses_until").on("outbound_pauses").column("paused_until").execute();
  },
};

/** Maximum number of rows per read, longest pauses first. */
const MAX_PAUSES = 1000;

export type PausesTable = ReturnType<typeof createPausesTable>;

/**
 * Runners store their pauses here, so that every process can show them and the next process restores them at startup.
 */
export function createPausesTable(db: Db, { write }: GroupCommitter) {
  const tables = db.tables<PauseTables>();
  return {
    async set({ name, kind, until, why }: Pause): Promise<void> {
      const row = { name, kind, paused_until: until, why };
      await write(
        tables
          .insertInto("outbound_pauses")
          .values(row)
          .onConflict((conflict) => conflict.column("name").doUpdateSet({ kind, paused_until: until, why })),
      );
    },
    async delete(names: string[]): Promise<void> {
      if (names.length > 0) await write(tables.deleteFrom("outbound_pauses").where("name", "in", names));
    },
    /** Pauses active at `now`, optionally only for `names`. */
    async active(now: number, names?: string[]): Promise<Pause[]> {
      if (names?.length === 0) return [];
      let query = tables.selectFrom("outbound_pauses").selectAll().where("paused_until", ">", now);
      if (names !== undefined) query = query.where("name", "in", names);
      const rows = await db.read(query.orderBy("paused_until", "desc").limit(MAX_PAUSES));
      return rows.map(({ name, kind, paused_until: until, why }) => ({ name, kind, until, why }));
    },
    async forget(now: number): Promise<void> {
      await write(tables.deleteFrom("outbound_pauses").where("paused_until", "<=", now));
    },
  };
}
