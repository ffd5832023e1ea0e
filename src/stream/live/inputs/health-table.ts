import type { Db } from "../../../store/index.ts";
import type { LiveInputTables } from "./live-table.ts";

export function createHealthTable(db: Db) {
  const tables = db.tables<LiveInputTables>();

  return {
    async note(rows: readonly LiveInputTables["stream_live_health"][]): Promise<void> {
      if (rows.length === 0) return;
      await db.write(
        tables
          .insertInto("stream_live_health")
          .values(rows)
          .onConflict((conflict) =>
            conflict
              .column("input_uid")
              .doUpdateSet(({ ref }) => ({ at: ref("excluded.at"), health: ref("excluded.health") })),
          ),
      );
    },
    async since(input: string, at: number): Promise<string | undefined> {
      return (
        await db.read(
          tables.selectFrom("stream_live_health").select("health").where("input_uid", "=", input).where("at", ">=", at),
        )
      )[0]?.health;
    },
    async forget(before: number): Promise<void> {
      await db.write(tables.deleteFrom("stream_live_health").where("at", "<", before));
    },
  };
}
