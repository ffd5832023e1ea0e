import type { PageRequest } from "../../../kernel/index.ts";
import { offsetOf } from "../../../kernel/index.ts";
import type { Db } from "../../../store/index.ts";
import type { LogFilter } from "./port.ts";
import type { AiGatewayTables, LogRow } from "./schema.ts";

type Gateway = Pick<LogRow, "account_id" | "gateway_id">;

export function createLogsTable(db: Db) {
  const tables = db.tables<AiGatewayTables>();

  const matching = ({ account_id, gateway_id }: Gateway, { success, cached, provider, model }: LogFilter) => {
    let query = tables
      .selectFrom("ai_gateway_logs")
      .where("account_id", "=", account_id)
      .where("gateway_id", "=", gateway_id);
    if (success !== undefined) query = query.where("success", "=", Number(success));
    if (cached !== undefined) query = query.where("cached", "=", Number(cached));
    if (provider !== undefined) query = query.where("provider", "=", provider);
    if (model !== undefined) query = query.where("model", "=", model);
    return query;
  };

  return {
    /** Inserts a log. If the gateway already has `maxLogs`, deletes the oldest ones, or drops the new log. */
    add: (row: LogRow, maxLogs: number, atLimit: "delete oldest" | "drop"): Promise<void> =>
      db.transaction<AiGatewayTables, void>(async (tx) => {
        const logs = tx
          .selectFrom("ai_gateway_logs")
          .where("account_id", "=", row.account_id)
          .where("gateway_id", "=", row.gateway_id);
        const { count } = await logs.select((eb) => eb.fn.countAll<number>().as("count")).executeTakeFirstOrThrow();
        const excess = Number(count) + 1 - maxLogs;
        if (excess > 0 && atLimit === "drop") return;
        if (excess > 0) {
          const oldest = logs.select("id").orderBy("created_at").orderBy("id").limit(excess);
          await tx.deleteFrom("ai_gateway_logs").where("id", "in", oldest).execute();
        }
        await tx.insertInto("ai_gateway_logs").values(row).execute();
      }),

    async page(gateway: Gateway, filter: LogFilter, page: PageRequest): Promise<{ rows: LogRow[]; total: number }> {
      const [counted] = await db.read(matching(gateway, filter).select((eb) => eb.fn.countAll<number>().as("count")));
      const direction = filter.direction ?? "desc";
      const rows = await db.read(
        matching(gateway, filter)
          .selectAll()
          .orderBy("created_at", direction)
          .orderBy("id", direction)
          .limit(page.perPage)
          .offset(offsetOf(page)),
      );
      return { rows, total: Number(counted!.count) };
    },

    async get({ account_id, gateway_id }: Gateway, id: string): Promise<LogRow | undefined> {
      const query = tables.selectFrom("ai_gateway_logs").selectAll().where("id", "=", id);
      return (await db.read(query.where("account_id", "=", account_id).where("gateway_id", "=", gateway_id)))[0];
    },

    async setDetails(id: string, details: string): Promise<void> {
      await db.write(tables.updateTable("ai_gateway_logs").set({ details }).where("id", "=", id));
    },

    /** Deletes up to `limit` matching logs: the newest first, or the oldest with `direction: "asc"`. */
    async delete(gateway: Gateway, filter: LogFilter, limit: number): Promise<void> {
      const direction = filter.direction ?? "desc";
      const ids = matching(gateway, filter).select("id").orderBy("created_at", direction).orderBy("id", direction);
      await db.write(tables.deleteFrom("ai_gateway_logs").where("id", "in", ids.limit(limit)));
    },
  };
}
