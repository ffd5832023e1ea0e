import { sql } from "kysely";
import type { Db, Migration } from "../db/port.ts";

interface SweepRow {
  name: string;
  /** Id of the run that holds the lease until `until`. */
  holder: string;
  /** During a run, the end of its lease; afterwards, the time of the next run. */
  until: number;
  /** The number that the last completed run returned. */
  result: number | null;
}

interface Tables {
  sweeps: SweepRow;
}

export const sweepsMigrations: readonly Migration[] = [
  {
    name: "sweeps-001",
    async up(db, types) {
      await db.schema
        .createTable("sweeps")
        .addColumn("name", sql.raw(types.keyText), (column) => column.primaryKey())
        .addColumn("holder", "text", (column) => column.notNull())
        .addColumn("until", "bigint", (column) => column.notNull())
        .addColumn("result", "bigint")
        .execute();
    },
  },
];

export function createSweepsTable(db: Db) {
  const tables = db.tables<Tables>();
  const held = (name: string, holder: string) =>
    tables.updateTable("sweeps").where("name", "=", name).where("holder", "=", holder);

  return {
    /** Resolves with true for exactly one of the concurrent callers. */
    async claim(name: string, holder: string, now: number, until: number): Promise<boolean> {
      const { affected } = await db.write(
        tables
          .insertInto("sweeps")
          .values({ name, holder, until, result: null })
          .onConflict((on) => on.column("name").doUpdateSet({ holder, until }).where("sweeps.until", "<=", now)),
      );
      return affected === 1;
    },
    renew: async (name: string, holder: string, until: number) =>
      void (await db.write(held(name, holder).set({ until }))),
    complete: async (name: string, holder: string, until: number, result: number | null) =>
      void (await db.write(held(name, holder).set({ until, result }))),
    async result(name: string): Promise<number | undefined> {
      const row = await tables.selectFrom("sweeps").select("result").where("name", "=", name).executeTakeFirst();
      return row?.result ?? undefined;
    },
  };
}
