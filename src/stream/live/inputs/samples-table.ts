import type { Db } from "../../../store/index.ts";
import type { LiveInputTables } from "./live-table.ts";

type Row = LiveInputTables["stream_live_samples"];

/** Creates the table of broadcast measurements, which are kept for a short time. */
export function createSamplesTable(db: Db) {
  const tables = db.tables<LiveInputTables>();

  return {
    async add(rows: readonly Row[]): Promise<void> {
      if (rows.length === 0) return;
      await db.write(
        tables
          .insertInto("stream_live_samples")
          .values(rows)
          .onConflict((conflict) => conflict.columns(["input_uid", "at"]).doNothing()),
      );
    },
    /** Oldest first. */
    async since(input: string, at: number, limit: number): Promise<Row[]> {
      const rows = await db.read(
        tables
          .selectFrom("stream_live_samples")
          .selectAll()
          .where("input_uid", "=", input)
          .where("at", ">=", at)
          .orderBy("at", "desc")
          .limit(limit),
      );
      return rows.reverse();
    },
    async forget(before: number): Promise<void> {
      await db.write(tables.deleteFrom("stream_live_samples").where("at", "<", before));
    },
  };
}
