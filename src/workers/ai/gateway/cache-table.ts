import { prepareQuery, type Db } from "../../../store/index.ts";
import type { AiGatewayTables, CacheRow } from "./schema.ts";

export function createCacheTable(db: Db) {
  const tables = db.tables<AiGatewayTables>();
  const one = prepareQuery((arg) =>
    tables
      .selectFrom("ai_gateway_cache")
      .selectAll()
      .where("account_id", "=", arg<string>("account"))
      .where("gateway_id", "=", arg<string>("gateway"))
      .where("key", "=", arg<string>("key"))
      .where("expires_at", ">", arg<number>("now")),
  );

  return {
    async get(account: string, gateway: string, key: string, now: number): Promise<CacheRow | undefined> {
      return (await db.read(one({ account, gateway, key, now })))[0];
    },

    /** Replaces an older row with the same key, then deletes the rows of the account that expire first. */
    put: (row: CacheRow, maxRows: number): Promise<void> =>
      db.transaction<AiGatewayTables, void>(async (tx) => {
        const { account_id, gateway_id, key, ...values } = row;
        await tx
          .insertInto("ai_gateway_cache")
          .values(row)
          .onConflict((conflict) => conflict.columns(["account_id", "gateway_id", "key"]).doUpdateSet(values))
          .execute();
        const { count } = await tx
          .selectFrom("ai_gateway_cache")
          .select((eb) => eb.fn.countAll<number>().as("count"))
          .where("account_id", "=", account_id)
          .executeTakeFirstOrThrow();
        if (Number(count) <= maxRows) return;
        const evicted = await tx
          .selectFrom("ai_gateway_cache")
          .select(["gateway_id", "key"])
          .where("account_id", "=", account_id)
          .where((eb) => eb.or([eb("key", "!=", key), eb("gateway_id", "!=", gateway_id)]))
          .orderBy("expires_at")
          .limit(Number(count) - maxRows)
          .execute();
        for (const each of evicted)
          await tx
            .deleteFrom("ai_gateway_cache")
            .where("account_id", "=", account_id)
            .where("gateway_id", "=", each.gateway_id)
            .where("key", "=", each.key)
            .execute();
      }),

    async clear(account: string, gateway: string): Promise<void> {
      const query = tables.deleteFrom("ai_gateway_cache").where("account_id", "=", account);
      await db.write(query.where("gateway_id", "=", gateway));
    },

    async deleteExpired(now: number): Promise<void> {
      await db.write(tables.deleteFrom("ai_gateway_cache").where("expires_at", "<=", now));
    },
  };
}
