import type { Kysely } from "kysely";
import { isUniqueViolation, prepared, type Db } from "../../store/index.ts";
import type { SecretRow, SecretsStoreTables, StoreRow } from "./schema.ts";

export type SecretHead = Omit<SecretRow, "value">;

type Tables = Kysely<SecretsStoreTables>;

const HEAD = ["id", "store_id", "account_id", "name", "scopes", "comment", "created_at", "modified_at"] as const;

export function createSecretsTable(db: Db) {
  const tables = db.tables<SecretsStoreTables>();
  const byName = prepared((arg) =>
    tables
      .selectFrom("store_secrets")
      .selectAll()
      .where("store_id", "=", arg<string>("store"))
      .where("account_id", "=", arg<string>("account"))
      .where("name", "=", arg<string>("name")),
  );

  async function countIn(from: Tables, table: "secret_stores" | "store_secrets", account: string): Promise<number> {
    const { count } = await from
      .selectFrom(table)
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("account_id", "=", account)
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  return {
    async addStore(row: StoreRow, most: number): Promise<"added" | "name taken" | "too many"> {
      try {
        return await db.transaction<SecretsStoreTables, "added" | "name taken" | "too many">(async (tx) => {
          const taken = await tx
            .selectFrom("secret_stores")
            .select("id")
            .where("account_id", "=", row.account_id)
            .where("name", "=", row.name)
            .executeTakeFirst();
          if (taken !== undefined) return "name taken";
          if ((await countIn(tx, "secret_stores", row.account_id)) >= most) return "too many";
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

    /** Resolves with the number of secrets that prevented it, or undefined if it was deleted. */
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

    /** All or none. Resolves with the name that is taken. */
    async addSecrets(
      { id: store, account_id: account }: StoreRow,
      rows: SecretRow[],
      most: number,
    ): Promise<"added" | "store missing" | "too many" | { taken: string }> {
      type Result = "added" | "store missing" | "too many" | { taken: string };
      try {
        return await db.transaction<SecretsStoreTables, Result>(async (tx) => {
          const there = await tx.selectFrom("secret_stores").select("id").where("id", "=", store).executeTakeFirst();
          if (there === undefined) return "store missing";
          const names = rows.map(({ name }) => name);
          const taken = await tx
            .selectFrom("store_secrets")
            .select("name")
            .where("store_id", "=", store)
            .where("name", "in", names)
            .executeTakeFirst();
          if (taken !== undefined) return { taken: taken.name };
          if ((await countIn(tx, "store_secrets", account)) + rows.length > most) return "too many";
          await tx.insertInto("store_secrets").values(rows).execute();
          return "added";
        });
      } catch (err) {
        if (isUniqueViolation(err)) return { taken: rows[0]!.name };
        throw err;
      }
    },

    /** In no particular order, without values. */
    heads: (store: string): Promise<SecretHead[]> =>
      db.read(tables.selectFrom("store_secrets").select(HEAD).where("store_id", "=", store)),

    async secret(store: string, id: string): Promise<SecretRow | undefined> {
      const query = tables.selectFrom("store_secrets").selectAll().where("id", "=", id);
      return (await db.read(query.where("store_id", "=", store)))[0];
    },

    async byName(account: string, store: string, name: string): Promise<SecretRow | undefined> {
      return (await db.read(byName({ account, store, name })))[0];
    },

    /** Resolves with the row after the change; undefined if it does not exist. */
    async change(id: string, values: Partial<SecretRow>): Promise<SecretRow | undefined> {
      const query = tables.updateTable("store_secrets").set(values).where("id", "=", id).returningAll();
      return (await db.write(query)).rows[0];
    },

    /** All or none. Resolves with an id that does not exist. */
    deleteSecrets: (store: string, ids: readonly string[]): Promise<string | undefined> =>
      db.transaction<SecretsStoreTables, string | undefined>(async (tx) => {
        const found = await tx
          .selectFrom("store_secrets")
          .select("id")
          .where("store_id", "=", store)
          .where("id", "in", ids)
          .execute();
        const missing = ids.find((id) => !found.some((row) => row.id === id));
        if (missing !== undefined) return missing;
        await tx.deleteFrom("store_secrets").where("store_id", "=", store).where("id", "in", ids).execute();
        return undefined;
      }),

    count: async (account: string) => ({
      stores: await countIn(tables, "secret_stores", account),
      secrets: await countIn(tables, "store_secrets", account),
    }),
  };
}
