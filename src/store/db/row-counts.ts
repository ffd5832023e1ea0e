import { sql, type Kysely } from "kysely";
import type { ColumnTypes } from "./port.ts";

/** Derived from other tables by triggers, so that backups omit it. */
export const ROW_COUNTS = "row_counts";

interface Tables {
  row_counts: { counted: string; key: string; count: number };
}

interface CountedTable {
  /** A name for the count, in a migration and in `rowCount`. */
  name: string;
  table: string;
  /** The column whose values are counted separately. No update changes it. */
  by: string;
  /** SQL condition on the columns of `row.`, which no update changes; only these rows are counted. */
  only?: string;
}

/**
 * In a migration: counts the rows of a table by the values of a column, so that lists can return their total without
 * counting. Triggers maintain the count, so that older versions may write to the table.
 */
export async function countRows(
  db: Kysely<unknown>,
  types: ColumnTypes,
  { name, table, by, only = "1 = 1" }: CountedTable,
): Promise<void> {
  const key = sql.raw(types.keyText);
  await db.schema
    .createTable(ROW_COUNTS)
    .ifNotExists()
    .addColumn("counted", key, (column) => column.notNull())
    .addColumn("key", key, (column) => column.notNull())
    .addColumn("count", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("row_counts_key", ["counted", "key"])
    .execute();
  const add = (row: "new" | "old", change: 1 | -1) => sql`
    insert into row_counts (counted, key, count) values (${sql.lit(name)}, ${sql.ref(`${row}.${by}`)}, ${sql.lit(change)})
    on conflict (counted, key) do update set count = row_counts.count + excluded.count;`;
  const removeEmpty = sql`
    delete from row_counts where counted = ${sql.lit(name)} and key = ${sql.ref(`old.${by}`)} and count = 0;`;
  for (const [event, row, change] of [
    ["insert", "new", 1],
    ["delete", "old", -1],
  ] as const) {
    const trigger = sql.ref(`${name}_count_${event}`);
    const when = sql.raw(only.replaceAll("row.", `${row}.`));
    const body = event === "insert" ? add(row, change) : sql`${add(row, change)} ${removeEmpty}`;
    if (types.bytes === "blob") {
      await sql`create trigger ${trigger} after ${sql.raw(event)} on ${sql.table(table)} when ${when} begin ${body} end`.execute(
        db,
      );
      continue;
    }
    await sql`create function ${trigger}() returns trigger language plpgsql as $$ begin ${body} return null; end $$`.execute(
      db,
    );
    await sql`create trigger ${trigger} after ${sql.raw(event)} on ${sql.table(table)} for each row when (${when}) execute function ${trigger}()`.execute(
      db,
    );
  }
  await sql`
    insert into row_counts (counted, key, count)
    select ${sql.lit(name)}, ${sql.ref(by)}, count(*) from ${sql.table(table)} as "row"
    where ${sql.raw(only.replaceAll("row.", '"row".'))} group by ${sql.ref(by)}`.execute(db);
}

/** The number of rows, for the value `key` of the column by which they are counted. */
export async function rowCount<Any>(
  db: Kysely<Any>,
  { name }: Pick<CountedTable, "name">,
  key: string,
): Promise<number> {
  const row = await (db as unknown as Kysely<Tables>)
    .selectFrom("row_counts")
    .select("count")
    .where("counted", "=", name)
    .where("key", "=", key)
    .executeTakeFirst();
  return Number(row?.count ?? 0);
}
