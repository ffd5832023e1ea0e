import { sql, type Selectable } from "kysely";
import { offsetOf, type PageRequest } from "../../../kernel/index.ts";
import { prepareQuery, isUniqueViolation, type Db, type Migration } from "../../../store/index.ts";
import { createRemovalTable } from "../removal-table.ts";

export interface DatabaseListTables {
  d1_databases: {
    /** UUID. */
    id: string;
    account_id: string;
    name: string;
    /** Epoch milliseconds. */
    created_at: number;
    read_replication: string;
    jurisdiction: string | null;
    location_hint: string | null;
    /** Set when it was deleted and its file is being removed. */
    removed_at: number | null;
  };
  /** The number of databases of each account, so that a list can return its total without counting. */
  d1_database_counts: { account_id: string; count: number };
}

export const databaseListMigration: Migration = {
  name: "workers-d1-001-databases",
  async up(db, types) {
    const text = sql.raw(types.keyText);
    await db.schema
      .createTable("d1_databases")
      .addColumn("id", text, (column) => column.primaryKey())
      .addColumn("account_id", text, (column) => column.notNull())
      .addColumn("name", text, (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("read_replication", text, (column) => column.notNull())
      .addColumn("jurisdiction", text)
      .addColumn("location_hint", text)
      .addColumn("removed_at", "bigint")
      .execute();
    const removedAt = sql.ref("removed_at");
    await db.schema
      .createIndex("d1_databases_name")
      .on("d1_databases")
      .columns(["account_id", "name"])
      .unique()
      .where(removedAt, "is", null)
      .execute();
    await db.schema
      .createIndex("d1_databases_removed")
      .on("d1_databases")
      .columns(["removed_at", "id"])
      .where(removedAt, "is not", null)
      .execute();
    await db.schema
      .createTable("d1_database_counts")
      .addColumn("account_id", text, (column) => column.primaryKey())
      .addColumn("count", "bigint", (column) => column.notNull())
      .execute();
  },
};

export interface DatabaseRow {
  id: string;
  account: string;
  name: string;
  /** Epoch milliseconds. */
  createdAt: number;
  readReplication: "auto" | "disabled";
  jurisdiction: string | null;
  locationHint: string | null;
}

type Created = "created" | "name taken" | "id taken" | "too many";

const COLUMNS = [
  "id",
  "account_id",
  "name",
  "created_at",
  "read_replication",
  "jurisdiction",
  "location_hint",
] as const;

export function createDatabaseListTable(db: Db) {
  const tables = db.tables<DatabaseListTables>();
  const selectExisting = () => tables.selectFrom("d1_databases").select(COLUMNS).where("removed_at", "is", null);
  const find = prepareQuery((arg) => selectExisting().where("id", "=", arg<string>("id")));
  const findByName = prepareQuery((arg) =>
    selectExisting().where("account_id", "=", arg<string>("account")).where("name", "=", arg<string>("name")),
  );
  const count = prepareQuery((arg) =>
    tables.selectFrom("d1_database_counts").select("count").where("account_id", "=", arg<string>("account")),
  );
  const page = prepareQuery((arg) =>
    selectExisting()
      .where("account_id", "=", arg<string>("account"))
      .orderBy("name")
      .limit(arg<number>("limit"))
      .offset(arg<number>("offset")),
  );

  return {
    async create(
      { id, account, name, createdAt, readReplication, jurisdiction, locationHint }: DatabaseRow,
      maxDatabases: number,
    ): Promise<Created> {
      try {
        return await db.transaction<DatabaseListTables, Created>(async (tx) => {
          const existingRow = await tx
            .selectFrom("d1_databases")
            .select("id")
            .where("account_id", "=", account)
            .where("name", "=", name)
            .where("removed_at", "is", null)
            .executeTakeFirst();
          if (existingRow) return "name taken";
          // Deleted rows remain until their data is removed.
          const sameId = await tx.selectFrom("d1_databases").select("id").where("id", "=", id).executeTakeFirst();
          if (sameId) return "id taken";
          const countResult = await tx
            .selectFrom("d1_database_counts")
            .select("count")
            .where("account_id", "=", account)
            .executeTakeFirst();
          if ((countResult?.count ?? 0) >= maxDatabases) return "too many";
          await tx
            .insertInto("d1_databases")
            .values({
              id,
              account_id: account,
              name,
              created_at: createdAt,
              read_replication: readReplication,
              jurisdiction,
              location_hint: locationHint,
              removed_at: null,
            })
            .execute();
          await tx
            .insertInto("d1_database_counts")
            .values({ account_id: account, count: 1 })
            .onConflict((conflict) =>
              conflict.column("account_id").doUpdateSet({ count: sql<number>`d1_database_counts.count + 1` }),
            )
            .execute();
          return "created";
        });
      } catch (err) {
        if (isUniqueViolation(err)) return "name taken";
        throw err;
      }
    },

    async find(id: string): Promise<DatabaseRow | undefined> {
      const { rows } = await tables.executeQuery(find({ id }).compile());
      return rows[0] && fromRow(rows[0]);
    },

    async findByName(account: string, name: string): Promise<DatabaseRow | undefined> {
      const { rows } = await tables.executeQuery(findByName({ account, name }).compile());
      return rows[0] && fromRow(rows[0]);
    },

    /** Sorted by name. `nameFilter` filters by names that contain it, ignoring case. */
    async page(
      account: string,
      request: PageRequest,
      nameFilter?: string,
    ): Promise<{ rows: DatabaseRow[]; total: number }> {
      const range = { limit: request.perPage, offset: offsetOf(request) };
      if (nameFilter === undefined) {
        const [{ rows }, countResult] = await Promise.all([
          tables.executeQuery(page({ account, ...range }).compile()),
          tables.executeQuery(count({ account }).compile()),
        ]);
        return { rows: rows.map(fromRow), total: countResult.rows[0]?.count ?? 0 };
      }
      const pattern = `%${nameFilter.toLowerCase().replace(/[%_\\]/g, "\\$&")}%`;
      const matchingQuery = tables
        .selectFrom("d1_databases")
        .where("account_id", "=", account)
        .where("removed_at", "is", null)
        .where(sql<boolean>`lower(name) like ${pattern} escape '\\'`);
      const rows = await matchingQuery
        .select(COLUMNS)
        .orderBy("name")
        .limit(range.limit)
        .offset(range.offset)
        .execute();
      const { total } = await matchingQuery
        .select((eb) => eb.fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow();
      return { rows: rows.map(fromRow), total: Number(total) };
    },

    async changeReadReplication(account: string, id: string, mode: DatabaseRow["readReplication"]): Promise<void> {
      await db.write(
        tables
          .updateTable("d1_databases")
          .set({ read_replication: mode })
          .where("id", "=", id)
          .where("account_id", "=", account)
          .where("removed_at", "is", null),
      );
    },

    ...createRemovalTable(db, { rows: "d1_databases", counts: "d1_database_counts" }),
  };
}

const fromRow = (row: Omit<Selectable<DatabaseListTables["d1_databases"]>, "removed_at">): DatabaseRow => ({
  id: row.id,
  account: row.account_id,
  name: row.name,
  createdAt: row.created_at,
  readReplication: row.read_replication as DatabaseRow["readReplication"],
  jurisdiction: row.jurisdiction,
  locationHint: row.location_hint,
});
