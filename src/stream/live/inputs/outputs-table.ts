import type { Db } from "../../../store/index.ts";
import type { LiveInputTables, OutputRow } from "./live-table.ts";

export type OutputsTable = ReturnType<typeof createOutputsTable>;

export function createOutputsTable(db: Db) {
  const tables = db.tables<LiveInputTables>();

  return {
    list: (input: string): Promise<OutputRow[]> =>
      db.read(
        tables
          .selectFrom("stream_live_outputs")
          .selectAll()
          .where("input_uid", "=", input)
          .orderBy("created_at")
          .orderBy("uid"),
      ),

    /** "full": the maximum number of outputs has been reached; "gone": the input has been deleted. */
    insert: (row: OutputRow, maxOutputs: number): Promise<"made" | "full" | "gone"> =>
      db.transaction<LiveInputTables, "made" | "full" | "gone">(async (tx) => {
        if (
          (await tx
            .selectFrom("stream_live_inputs")
            .select("uid")
            .where("uid", "=", row.input_uid)
            .executeTakeFirst()) === undefined
        )
          return "gone";
        const existingInput = await tx
          .selectFrom("stream_live_outputs")
          .select("uid")
          .where("input_uid", "=", row.input_uid)
          .limit(maxOutputs)
          .execute();
        if (existingInput.length >= maxOutputs) return "full";
        await tx.insertInto("stream_live_outputs").values(row).execute();
        return "made";
      }),

    async setEnabled(input: string, uid: string, enabled: 0 | 1): Promise<OutputRow | undefined> {
      const { rows } = await db.write(
        tables
          .updateTable("stream_live_outputs")
          .set({ enabled })
          .where("uid", "=", uid)
          .where("input_uid", "=", input)
          .returningAll(),
      );
      return rows[0];
    },
    delete: async (input: string, uid: string): Promise<boolean> =>
      (await db.write(tables.deleteFrom("stream_live_outputs").where("uid", "=", uid).where("input_uid", "=", input)))
        .affected > 0,
    async note(uid: string, status: string): Promise<void> {
      await db.write(tables.updateTable("stream_live_outputs").set({ status }).where("uid", "=", uid));
    },
  };
}
