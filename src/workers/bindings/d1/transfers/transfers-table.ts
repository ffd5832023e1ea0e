import { sql, type Selectable } from "kysely";
import { prepareQuery, isUniqueViolation, type Db, type Migration } from "../../../../store/index.ts";

export interface TransferTables {
  d1_transfers: {
    /** 32 hex digits. */
    id: string;
    account_id: string;
    database_id: string;
    kind: string;
    status: string;
    /** Part of the URL of its file: a client that knows it may fetch or upload that one file until it expires. */
    token: string;
    filename: string;
    /** MD5 in hex, for an import. */
    etag: string | null;
    /** The file of a finished export, or the uploaded file. */
    object_key: string | null;
    size: number | null;
    /** JSON: the options of an export, and the result of either kind. */
    options: string | null;
    result: string | null;
    error: string | null;
    job_id: string | null;
    /** Epoch milliseconds. */
    created_at: number;
    expires_at: number;
  };
}

export const transfersMigration: Migration = {
  name: "workers-d1-002-transfers",
  async up(db, types) {
    const text = sql.raw(types.keyText);
    await db.schema
      .createTable("d1_transfers")
      .addColumn("id", text, (column) => column.primaryKey())
      .addColumn("account_id", text, (column) => column.notNull())
      .addColumn("database_id", text, (column) => column.notNull())
      .addColumn("kind", text, (column) => column.notNull())
      .addColumn("status", text, (column) => column.notNull())
      .addColumn("token", text, (column) => column.notNull().unique())
      .addColumn("filename", text, (column) => column.notNull())
      .addColumn("etag", text)
      .addColumn("object_key", text)
      .addColumn("size", "bigint")
      .addColumn("options", "text")
      .addColumn("result", "text")
      .addColumn("error", "text")
      .addColumn("job_id", text)
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("expires_at", "bigint", (column) => column.notNull())
      .execute();
    // At most one import and one export of a database at a time.
    await sql`create unique index d1_transfers_active on d1_transfers (database_id, kind) where status = 'active'`.execute(
      db,
    );
    await db.schema
      .createIndex("d1_transfers_database")
      .on("d1_transfers")
      .columns(["database_id", "kind", "status", "id"])
      .execute();
    await db.schema.createIndex("d1_transfers_expiry").on("d1_transfers").columns(["expires_at", "id"]).execute();
  },
};

/** waiting (for its upload) -> uploaded -> active -> complete | error; an export starts as active. */
type TransferStatus = "waiting" | "uploaded" | "active" | "complete" | "error";

export type TransferRow = Selectable<TransferTables["d1_transfers"]> & {
  kind: "import" | "export";
  status: TransferStatus;
};
export type TransferChange = Partial<
  Pick<TransferRow, "status" | "object_key" | "size" | "result" | "error" | "job_id" | "expires_at">
>;

export function createTransfersTable(db: Db) {
  const tables = db.tables<TransferTables>();
  const selectTransfers = () => tables.selectFrom("d1_transfers").selectAll();
  const findById = prepareQuery((arg) => selectTransfers().where("id", "=", arg<string>("id")));
  const first = async (query: { execute(): Promise<unknown[]> }) =>
    (await query.execute())[0] as TransferRow | undefined;

  return {
    /**
     * Resolves with false if `maxCount` transfers of this database and kind already have one of these statuses, or one
     * is active.
     */
    async insert(row: TransferRow, maxCount: number, countedStatuses: TransferStatus[]): Promise<boolean> {
      try {
        return await db.transaction<TransferTables, boolean>(async (tx) => {
          const countedRows = await tx
            .selectFrom("d1_transfers")
            .select("id")
            .where("database_id", "=", row.database_id)
            .where("kind", "=", row.kind)
            .where("status", "in", countedStatuses)
            .limit(maxCount)
            .execute();
          if (countedRows.length >= maxCount) return false;
          await tx.insertInto("d1_transfers").values(row).execute();
          return true;
        });
      } catch (err) {
        if (isUniqueViolation(err)) return false;
        throw err;
      }
    },

    async find(id: string): Promise<TransferRow | undefined> {
      return (await tables.executeQuery(findById({ id }).compile())).rows[0] as TransferRow | undefined;
    },

    findByToken: (token: string) => first(selectTransfers().where("token", "=", token)),
    findActive: (database: string, kind: TransferRow["kind"]) =>
      first(
        selectTransfers().where("database_id", "=", database).where("kind", "=", kind).where("status", "=", "active"),
      ),
    findUpload: (database: string, etag: string, statuses: TransferStatus[]) =>
      first(
        selectTransfers()
          .where("database_id", "=", database)
          .where("kind", "=", "import")
          .where("status", "in", statuses)
          .where("etag", "=", etag)
          .orderBy("id")
          .limit(1),
      ),

    /** Resolves with "other active", or with whether the row existed with one of these statuses. */
    async change(id: string, from: TransferStatus[], change: TransferChange): Promise<boolean | "other active"> {
      try {
        const { affected } = await db.write(
          tables.updateTable("d1_transfers").set(change).where("id", "=", id).where("status", "in", from),
        );
        return affected === 1;
      } catch (err) {
        if (isUniqueViolation(err)) return "other active";
        throw err;
      }
    },

    /** Skips active transfers. */
    expired: async (before: number, limit: number): Promise<TransferRow[]> =>
      (await selectTransfers()
        .where("expires_at", "<", before)
        .where("status", "<>", "active")
        .orderBy("expires_at")
        .orderBy("id")
        .limit(limit)
        .execute()) as TransferRow[],
    stale: async (before: number, limit: number): Promise<TransferRow[]> =>
      (await selectTransfers()
        .where("expires_at", "<", before)
        .where("status", "=", "active")
        .orderBy("expires_at")
        .orderBy("id")
        .limit(limit)
        .execute()) as TransferRow[],

    async forget(id: string): Promise<void> {
      await db.write(tables.deleteFrom("d1_transfers").where("id", "=", id).where("status", "<>", "active"));
    },
  };
}
