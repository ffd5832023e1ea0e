import { sql } from "kysely";
import type { Db } from "../../store/index.ts";

interface RemovableRow {
  id: string;
  account_id: string;
  /** Set when the row was deleted and its data is being removed. */
  removed_at: number | null;
}

interface CountRow {
  account_id: string;
  count: number;
}

interface Tables {
  kv_namespaces: RemovableRow;
  kv_namespace_counts: CountRow;
  d1_databases: RemovableRow;
  d1_database_counts: CountRow;
}

interface RemovalTables {
  rows: "kv_namespaces" | "d1_databases";
  /** The number of rows of each account. */
  counts: "kv_namespace_counts" | "d1_database_counts";
}

/** Deletes rows in two steps: a row is hidden first, and forgotten when its data has been removed. */
export function createRemovalTable(db: Db, { rows, counts }: RemovalTables) {
  const tables = db.tables<Tables>();
  return {
    /** Hides the row from all callers. Returns false if it did not exist. */
    markRemoved: (account: string, id: string, at: number): Promise<boolean> =>
      db.transaction<Tables, boolean>(async (tx) => {
        const markedRows = await tx
          .updateTable(rows)
          .set({ removed_at: at })
          .where("id", "=", id)
          .where("account_id", "=", account)
          .where("removed_at", "is", null)
          .returning("id")
          .execute();
        if (markedRows.length === 0) return false;
        await tx
          .updateTable(counts)
          .set({ count: sql<number>`count - 1` })
          .where("account_id", "=", account)
          .execute();
        return true;
      }),

    /** Hidden rows, longest hidden first, starting after `after`. */
    async removed(after: { at: number; id: string } | undefined, limit: number): Promise<{ id: string; at: number }[]> {
      let query = tables
        .selectFrom(rows)
        .select(["id", "removed_at"])
        .where("removed_at", "is not", null)
        .orderBy("removed_at")
        .orderBy("id")
        .limit(limit);
      if (after)
        query = query.where(({ eb, refTuple, tuple }) =>
          eb(refTuple("removed_at", "id"), ">", tuple(after.at, after.id)),
        );
      return (await query.execute()).map(({ id, removed_at }) => ({ id, at: removed_at! }));
    },

    async forget(id: string): Promise<void> {
      await db.write(tables.deleteFrom(rows).where("id", "=", id).where("removed_at", "is not", null));
    },
  };
}
