import { sql } from "kysely";
import { isUniqueViolation, prepareQuery, type Db, type Migration } from "../../store/index.ts";

interface KeyTables {
  stream_signing_keys: KeyRow;
}

export interface KeyRow {
  id: string;
  account_id: string;
  created_at: number;
  /** SubjectPublicKeyInfo, PEM. */
  public_key: string;
  /** The account id, for the account's default signing key; at most one per account. */
  own_of: string | null;
  /** PKCS#8, PEM, encrypted; only for the default key. */
  sealed: string | null;
}

export const streamKeysMigrations: Migration[] = [
  {
    name: "stream-keys-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("stream_signing_keys")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("public_key", "text", (column) => column.notNull())
        .addColumn("own_of", key)
        .addColumn("sealed", "text")
        .execute();
      await db.schema
        .createIndex("stream_signing_keys_account")
        .on("stream_signing_keys")
        .columns(["account_id", "created_at", "id"])
        .execute();
      await sql`create unique index stream_signing_keys_own on stream_signing_keys (own_of) where own_of is not null`.execute(
        db,
      );
    },
  },
];

interface KeysTable {
  find(id: string): Promise<KeyRow | undefined>;
  own(account: string): Promise<KeyRow | undefined>;
  /** Resolves with keys created on request, oldest first. */
  list(account: string): Promise<Pick<KeyRow, "id" | "account_id" | "created_at">[]>;
  /** False if the account already has `max` keys. */
  insert(row: KeyRow, max: number): Promise<boolean>;
  /** False if the account already has a default key. */
  insertOwn(row: KeyRow): Promise<boolean>;
  /** False if there was no such key. */
  delete(account: string, id: string): Promise<boolean>;
}

export function createKeysTable(db: Db): KeysTable {
  const keys = db.tables<KeyTables>();
  const byId = prepareQuery((arg) =>
    keys.selectFrom("stream_signing_keys").selectAll().where("id", "=", arg<string>("id")),
  );

  return {
    find: async (id) => (await db.read(byId({ id })))[0],
    own: (account) =>
      keys.selectFrom("stream_signing_keys").selectAll().where("own_of", "=", account).executeTakeFirst(),
    list: (account) =>
      keys
        .selectFrom("stream_signing_keys")
        .select(["id", "account_id", "created_at"])
        .where("account_id", "=", account)
        .where("own_of", "is", null)
        .orderBy("created_at")
        .orderBy("id")
        .execute(),
    insert: (row, max) =>
      db.transaction<KeyTables, boolean>(async (tx) => {
        // Uses the index on the account; the limit bounds the number of entries to count.
        const { count } = await tx
          .selectFrom("stream_signing_keys")
          .select(({ fn }) => fn.countAll<number>().as("count"))
          .where("account_id", "=", row.account_id)
          .where("own_of", "is", null)
          .executeTakeFirstOrThrow();
        if (Number(count) >= max) return false;
        await tx.insertInto("stream_signing_keys").values(row).execute();
        return true;
      }),
    async insertOwn(row) {
      try {
        await db.write(keys.insertInto("stream_signing_keys").values(row));
        return true;
      } catch (err) {
        if (isUniqueViolation(err)) return false;
        throw err;
      }
    },
    delete: async (account, id) =>
      (await db.write(keys.deleteFrom("stream_signing_keys").where("id", "=", id).where("account_id", "=", account)))
        .affected > 0,
  };
}
