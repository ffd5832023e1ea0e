import type { Kysely } from "kysely";
import { isUniqueViolation, prepareQuery, type Db } from "../../store/index.ts";
import type { SecretRow, SecretsStoreTables, StoreRow } from "./schema.ts";

export type SecretMetadataRow = Omit<SecretRow, "value">;

type Tables = Kysely<SecretsStoreTables>;

const METADATA_COLUMNS = [
  "id",
  "store_id",
  "account_id",
  "name",
  "scopes",
  "comment",
  "created_at",
  "modified_at",
] as const;

export function createSecretsTable(db: Db) {
  const tables = db.tables<SecretsStoreTables>();
  const byName = prepareQuery((arg) =>
    tables
      .selectFrom("store_secrets")
      .selectAll()
      .where("store_id", "=", arg<string>("store"))
      .where("account_id", "=", arg<string>("account"))
      .where("name", "=", arg<string>("name")),
  );

  async function countRows(
    executor: Tables,
    table: "secret_stores" | "store_secrets",
    account: string,
  ): Promise<number> {
    const { count } = await executor
      .selectFrom(table)
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("account_id", "=", account)
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  return {
    async addStore(row: StoreRow, maxStores: number): Promise<"added" | "name taken" | "too many"> {
      try {
        return await db.transaction<SecretsStoreTables, "added" | "name taken" | "too many">(async (tx) => {
          const sameName = await tx
            .selectFrom("secret_stores")
            .select("id")
            .where("account_id", "=", row.account_id)
            .where("name", "=", row.name)
            .executeTakeFirst();
          if (sameName !== undefined) return "name taken";
          if ((await countRows(tx, "secret_stores", row.account_id)) >= maxStores) return "too many";
          await tx.insertInto("secret_stores").values(row).execute();
          return "added";
        });
      } catch (err) {
        if (isUniqueViolation(err)) return "name taken";
        throw err;
      }
    },

    stores: (account: string): Promise<StoreRow[]> =>
      db.read(tables.selectFrom("secret_stores").selectAll().where("account_id", "=", account)),

    async store(account: string, id: string): Promise<StoreRow | undefined> {
      const query = tables.selectFrom("secret_stores").selectAll().where("id", "=", id);
      return (await db.read(query.where("account_id", "=", account)))[0];
    },

    /** Resolves with undefined if the store was deleted, or else with the number of secrets that it contains. */
    deleteStore: (id: string, force: boolean): Promise<number | undefined> =>
      db.transaction<SecretsStoreTables, number | undefined>(async (tx) => {
        const { count } = await tx
          .selectFrom("store_secrets")
          .select((eb) => eb.fn.countAll<number>().as("count"))
          .where("store_id", "=", id)
          .executeTakeFirstOrThrow();
        if (Number(count) > 0 && !force) return Number(count);
        await tx.deleteFrom("store_secrets").where("store_id", "=", id).execute();
        await tx.deleteFrom("secret_stores").where("id", "=", id).execute();
        return undefined;
      }),

    /** Adds all of the secrets, or none. `taken` is the name of an existing secret. */
    async addSecrets(
      { id: store, account_id: account }: StoreRow,
      rows: SecretRow[],
      maxSecrets: number,
    ): Promise<"added" | "store missing" | "too many" | { taken: string }> {
      type Result = "added" | "store missing" | "too many" | { taken: string };
      try {
        return await db.transaction<SecretsStoreTables, Result>(async (tx) => {
          const existingStore = await tx
            .selectFrom("secret_stores")
            .select("id")
            .where("id", "=", store)
            .executeTakeFirst();
          if (existingStore === undefined) return "store missing";
          const names = rows.map(({ name }) => name);
          const sameName = await tx
            .selectFrom("store_secrets")
            .select("name")
            .where("store_id", "=", store)
            .where("name", "in", names)
            .executeTakeFirst();
          if (sameName !== undefined) return { taken: sameName.name };
          if ((await countRows(tx, "store_secrets", account)) + rows.length > maxSecrets) return "too many";
          await tx.insertInto("store_secrets").values(rows).execute();
          return "added";
        });
      } catch (err) {
        if (isUniqueViolation(err)) return { taken: rows[0]!.name };
        throw err;
      }
    },

    /** The secrets of a store without their values, in no particular order. */
    secretsWithoutValues: (store: string): Promise<SecretMetadataRow[]> =>
      db.read(tables.selectFrom("store_secrets").select(METADATA_COLUMNS).where("store_id", "=", store)),

    async secret(store: string, id: string): Promise<SecretRow | undefined> {
      const query = tables.selectFrom("store_secrets").selectAll().where("id", "=", id);
      return (await db.read(query.where("store_id", "=", store)))[0];
    },

    async byName(account: string, store: string, name: string): Promise<SecretRow | undefined> {
      return (await db.read(byName({ account, store, name })))[0];
    },

    /** Resolves with the updated row, or undefined if the secret does not exist. */
    async change(id: string, values: Partial<SecretRow>): Promise<SecretRow | undefined> {
      const query = tables.updateTable("store_secrets").set(values).where("id", "=", id).returningAll();
      return (await db.write(query)).rows[0];
    },

    /** Deletes all of the secrets. If one does not exist, deletes none and resolves with its id. */
    deleteSecrets: (store: string, ids: readonly string[]): Promise<string | undefined> =>
      db.transaction<SecretsStoreTables, string | undefined>(async (tx) => {
        const foundRows = await tx
          .selectFrom("store_secrets")
          .select("id")
          .where("store_id", "=", store)
          .where("id", "in", ids)
          .execute();
        const missingId = ids.find((id) => !foundRows.some((row) => row.id === id));
        if (missingId !== undefined) return missingId;
        await tx.deleteFrom("store_secrets").where("store_id", "=", store).where("id", "in", ids).execute();
        return undefined;
      }),

    count: async (account: string) => ({
      stores: await countRows(tables, "secret_stores", account),
      secrets: await countRows(tables, "store_secrets", account),
    }),
  };
}
