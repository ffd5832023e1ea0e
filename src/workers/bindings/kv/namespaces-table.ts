import { sql } from "kysely";
import { offsetOf, type PageRequest } from "../../../kernel/index.ts";
import { prepareQuery, isUniqueViolation, type Db, type Migration } from "../../../store/index.ts";
import { createRemovalTable } from "../removal-table.ts";

interface NamespaceTables {
  kv_namespaces: {
    /** 32 hex digits. */
    id: string;
    account_id: string;
    title: string;
    /** Epoch milliseconds. */
    created_at: number;
    /** Set when it was deleted and its entries are being removed. */
    removed_at: number | null;
  };
  /** The number of namespaces of each account, so that a list can return its total without counting. */
  kv_namespace_counts: { account_id: string; count: number };
}

export const namespaceMigration: Migration = {
  name: "workers-kv-002-namespaces",
  async up(db, types) {
    const text = sql.raw(types.keyText);
    await db.schema
      .createTable("kv_namespaces")
      .addColumn("id", text, (column) => column.primaryKey())
      .addColumn("account_id", text, (column) => column.notNull())
      .addColumn("title", text, (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("removed_at", "bigint")
      .execute();
    const removedAtRef = sql.ref("removed_at");
    await db.schema
      .createIndex("kv_namespaces_title")
      .on("kv_namespaces")
      .columns(["account_id", "title"])
      .unique()
      .where(removedAtRef, "is", null)
      .execute();
    await db.schema
      .createIndex("kv_namespaces_account")
      .on("kv_namespaces")
      .columns(["account_id", "id"])
      .where(removedAtRef, "is", null)
      .execute();
    await db.schema
      .createIndex("kv_namespaces_removed")
      .on("kv_namespaces")
      .columns(["removed_at", "id"])
      .where(removedAtRef, "is not", null)
      .execute();
    await db.schema
      .createTable("kv_namespace_counts")
      .addColumn("account_id", text, (column) => column.primaryKey())
      .addColumn("count", "bigint", (column) => column.notNull())
      .execute();
  },
};

interface NamespaceRow {
  id: string;
  account: string;
  title: string;
  /** Epoch milliseconds. */
  createdAt: number;
}

export interface NamespaceOrder {
  field: "id" | "title";
  direction: "asc" | "desc";
}

type Created = "created" | "title taken" | "id taken" | "too many";

export function createNamespaceTable(db: Db) {
  const tables = db.tables<NamespaceTables>();
  const columns = ["id", "account_id", "title", "created_at"] as const;
  const find = prepareQuery((arg) =>
    tables
      .selectFrom("kv_namespaces")
      .select(columns)
      .where("id", "=", arg<string>("id"))
      .where("removed_at", "is", null),
  );
  const count = prepareQuery((arg) =>
    tables.selectFrom("kv_namespace_counts").select("count").where("account_id", "=", arg<string>("account")),
  );
  const pages = Object.fromEntries(
    (["id", "title"] as const).flatMap((by) =>
      (["asc", "desc"] as const).map((direction) => [
        `${by} ${direction}`,
        prepareQuery((arg) =>
          tables
            .selectFrom("kv_namespaces")
            .select(columns)
            .where("account_id", "=", arg<string>("account"))
            .where("removed_at", "is", null)
            .orderBy(by, direction)
            .limit(arg<number>("limit"))
            .offset(arg<number>("offset")),
        ),
      ]),
    ),
  );

  return {
    async create({ id, account, title, createdAt }: NamespaceRow, maxNamespaces: number): Promise<Created> {
      try {
        return await db.transaction<NamespaceTables, Created>(async (tx) => {
          const existingTitle = await tx
            .selectFrom("kv_namespaces")
            .select("id")
            .where("account_id", "=", account)
            .where("title", "=", title)
            .where("removed_at", "is", null)
            .executeTakeFirst();
          if (existingTitle) return "title taken";
          // Deleted rows remain until their data is removed.
          const sameId = await tx.selectFrom("kv_namespaces").select("id").where("id", "=", id).executeTakeFirst();
          if (sameId) return "id taken";
          const countRow = await tx
            .selectFrom("kv_namespace_counts")
            .select("count")
            .where("account_id", "=", account)
            .executeTakeFirst();
          if ((countRow?.count ?? 0) >= maxNamespaces) return "too many";
          await tx
            .insertInto("kv_namespaces")
            .values({ id, account_id: account, title, created_at: createdAt, removed_at: null })
            .execute();
          await tx
            .insertInto("kv_namespace_counts")
            .values({ account_id: account, count: 1 })
            .onConflict((conflict) =>
              conflict.column("account_id").doUpdateSet({ count: sql<number>`kv_namespace_counts.count + 1` }),
            )
            .execute();
          return "created";
        });
      } catch (err) {
        if (isUniqueViolation(err)) return "title taken";
        throw err;
      }
    },

    async find(id: string): Promise<NamespaceRow | undefined> {
      const { rows } = await tables.executeQuery(find({ id }).compile());
      return rows[0] && fromRow(rows[0]);
    },

    async count(account: string): Promise<number> {
      const { rows } = await tables.executeQuery(count({ account }).compile());
      return rows[0]?.count ?? 0;
    },

    async page(account: string, { field, direction }: NamespaceOrder, page: PageRequest): Promise<NamespaceRow[]> {
      const { rows } = await tables.executeQuery(
        pages[`${field} ${direction}`]!({ account, limit: page.perPage, offset: offsetOf(page) }).compile(),
      );
      return rows.map(fromRow);
    },

    /** Resolves with "title taken", or with whether the namespace existed. */
    async rename(account: string, id: string, title: string): Promise<boolean | "title taken"> {
      try {
        const { affected } = await db.write(
          tables
            .updateTable("kv_namespaces")
            .set({ title })
            .where("id", "=", id)
            .where("account_id", "=", account)
            .where("removed_at", "is", null),
        );
        return affected === 1;
      } catch (err) {
        if (isUniqueViolation(err)) return "title taken";
        throw err;
      }
    },

    ...createRemovalTable(db, { rows: "kv_namespaces", counts: "kv_namespace_counts" }),
  };
}

const fromRow = (row: Omit<NamespaceTables["kv_namespaces"], "removed_at">): NamespaceRow => ({
  id: row.id,
  account: row.account_id,
  title: row.title,
  createdAt: row.created_at,
});
