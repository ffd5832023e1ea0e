import { sql } from "kysely";
import type { Db, Migration } from "../db/port.ts";

/** An incomplete object in S3. The row contains all of its state, so that one statement can change it atomically. */
export interface PartialRow {
  key: string;
  /** Null before the first part. */
  upload_id: string | null;
  /** Number of acknowledged bytes, in the parts and the tail. */
  offset_bytes: number;
  part_bytes: number;
  /** Comma-separated ETags of the parts. */
  etags: string;
  /** Key of the object with the acknowledged bytes after the last part. */
  tail_key: string | null;
  /** Fencing token: only this writer may advance the row. */
  writer: string;
  updated_at: number;
}

interface Tables {
  object_partials: PartialRow;
}

export const objectsMigrations: readonly Migration[] = [
  {
    name: "objects-001",
    async up(db, types) {
      await db.schema
        .createTable("object_partials")
        .addColumn("key", sql.raw(types.keyText), (column) => column.primaryKey())
        .addColumn("upload_id", "text")
        .addColumn("offset_bytes", "bigint", (column) => column.notNull())
        .addColumn("part_bytes", "bigint", (column) => column.notNull())
        .addColumn("etags", "text", (column) => column.notNull())
        .addColumn("tail_key", "text")
        .addColumn("writer", "text", (column) => column.notNull())
        .addColumn("updated_at", "bigint", (column) => column.notNull())
        .execute();
    },
  },
];

export type PartialsTable = ReturnType<typeof createPartialsTable>;

const BATCH = 500;

export function createPartialsTable(db: Db) {
  const tables = db.tables<Tables>();
  const rows = tables.selectFrom("object_partials").selectAll();

  return {
    async find(key: string): Promise<PartialRow | undefined> {
      return (await db.read(rows.where("key", "=", key)))[0];
    },
    /** Returns false if the key already has a row. */
    async insert(row: PartialRow): Promise<boolean> {
      const { affected } = await db.write(
        tables
          .insertInto("object_partials")
          .values(row)
          .onConflict((on) => on.doNothing()),
      );
      return affected === 1;
    },
    /** Makes `writer` the only writer that may advance the row. Undefined if there is no row with this offset. */
    async claim(
      key: string,
      offset: number,
      { writer, now }: { writer: string; now: number },
    ): Promise<PartialRow | undefined> {
      const { rows: claimed } = await db.write(
        tables
          .updateTable("object_partials")
          .set({ writer, updated_at: now })
          .where("key", "=", key)
          .where("offset_bytes", "=", offset)
          .returningAll(),
      );
      return claimed[0];
    },
    /** Returns false if another writer has claimed the row, or if it was removed. */
    async advance(
      { key, offset_bytes: offset, writer }: Pick<PartialRow, "key" | "offset_bytes" | "writer">,
      values: Partial<Pick<PartialRow, "upload_id" | "offset_bytes" | "etags" | "tail_key" | "updated_at">>,
    ): Promise<boolean> {
      const { affected } = await db.write(
        tables
          .updateTable("object_partials")
          .set(values)
          .where("key", "=", key)
          .where("offset_bytes", "=", offset)
          .where("writer", "=", writer),
      );
      return affected === 1;
    },
    /** Removes and returns the row; with `writer`, only if no other writer has claimed it. */
    async remove(key: string, writer?: string): Promise<PartialRow | undefined> {
      const deletion = tables.deleteFrom("object_partials").where("key", "=", key);
      const { rows: removed } = await db.write(
        (writer === undefined ? deletion : deletion.where("writer", "=", writer)).returningAll(),
      );
      return removed[0];
    },
    /** Yields all rows, and reads them in batches. */
    async *all(): AsyncGenerator<PartialRow> {
      for (let after = ""; ;) {
        const batch = await db.read(rows.where("key", ">", after).orderBy("key").limit(BATCH));
        yield* batch;
        if (batch.length < BATCH) return;
        after = batch.at(-1)!.key;
      }
    },
  };
}
