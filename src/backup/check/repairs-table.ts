import { sql } from "kysely";
import type { Db } from "../../store/index.ts";
import type { RowReference } from "./finding.ts";

/** Deletes the row of a finding. */
export async function deleteRow(db: Db, { table, key }: RowReference): Promise<void> {
  const conditions = Object.entries(key).map(([column, value]) => sql`${sql.ref(column)} = ${value}`);
  await sql`delete from ${sql.table(table)} where ${sql.join(conditions, sql` and `)}`.execute(db.tables());
}
