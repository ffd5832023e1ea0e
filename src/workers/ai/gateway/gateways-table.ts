import { isUniqueViolation, prepareQuery, type Db } from "../../../store/index.ts";
import type { AiGatewayTables, GatewayRow } from "./schema.ts";

export function createGatewaysTable(db: Db) {
  const tables = db.tables<AiGatewayTables>();
  const one = prepareQuery((arg) =>
    tables
      .selectFrom("ai_gateways")
      .selectAll()
      .where("account_id", "=", arg<string>("account"))
      .where("id", "=", arg<string>("id")),
  );

  return {
    async add(row: GatewayRow, maxGateways: number): Promise<"added" | "exists" | "too many"> {
      try {
        return await db.transaction<AiGatewayTables, "added" | "exists" | "too many">(async (tx) => {
          const rows = await tx
            .selectFrom("ai_gateways")
            .select("id")
            .where("account_id", "=", row.account_id)
            .execute();
          if (rows.some(({ id }) => id === row.id)) return "exists";
          if (rows.length >= maxGateways) return "too many";
          await tx.insertInto("ai_gateways").values(row).execute();
          return "added";
        });
      } catch (err) {
        if (isUniqueViolation(err)) return "exists";
        throw err;
      }
    },

    /** Lists gateways in order of their ids. */
    all: (account: string): Promise<GatewayRow[]> =>
      db.read(tables.selectFrom("ai_gateways").selectAll().where("account_id", "=", account).orderBy("id")),

    async get(account: string, id: string): Promise<GatewayRow | undefined> {
      return (await db.read(one({ account, id })))[0];
    },

    /** Resolves with the updated row, or undefined if the gateway does not exist. */
    async update(
      { account_id, id }: Pick<GatewayRow, "account_id" | "id">,
      values: Pick<GatewayRow, "settings" | "modified_at">,
    ): Promise<GatewayRow | undefined> {
      const query = tables.updateTable("ai_gateways").set(values).where("account_id", "=", account_id);
      return (await db.write(query.where("id", "=", id).returningAll())).rows[0];
    },

    /** Deletes the gateway with its logs and cached responses. Undefined if it does not exist. */
    delete: (account: string, id: string): Promise<GatewayRow | undefined> =>
      db.transaction<AiGatewayTables, GatewayRow | undefined>(async (tx) => {
        for (const table of ["ai_gateway_logs", "ai_gateway_cache"] as const)
          await tx.deleteFrom(table).where("account_id", "=", account).where("gateway_id", "=", id).execute();
        const query = tx.deleteFrom("ai_gateways").where("account_id", "=", account).where("id", "=", id);
        return query.returningAll().executeTakeFirst();
      }),
  };
}
