import type { Db } from "../store/index.ts";
import type { ClusterTables } from "./migrations.ts";

type Row = ClusterTables["cluster_authority"];

/** Stores `draft` if there is no authority yet. Returns the stored row. */
export async function claimAuthority(db: Db, draft: Row): Promise<Row> {
  const tables = db.tables<ClusterTables>();
  await db.write(
    tables
      .insertInto("cluster_authority")
      .values(draft)
      .onConflict((conflict) => conflict.column("name").doNothing()),
  );
  return tables.selectFrom("cluster_authority").selectAll().where("name", "=", draft.name).executeTakeFirstOrThrow();
}
