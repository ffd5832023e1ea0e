import type { Kysely } from "kysely";
import { isUniqueViolation, type Db } from "../../store/index.ts";
import type { ScriptRename } from "../scripts/references.ts";
import type { DomainFilter } from "./port.ts";
import type { DomainRow, WorkerRoutingTables } from "./schema.ts";

export type DomainsTable = ReturnType<typeof createDomainsTable>;

const FILTER_COLUMNS = { hostname: "hostname", script: "script", zone: "zone_id", zoneName: "zone_name" } as const;

export function createDomainsTable(db: Db) {
  const tables = db.tables<WorkerRoutingTables>();
  return {
    all: (limit: number): Promise<DomainRow[]> =>
      db.read(tables.selectFrom("worker_domains").selectAll().orderBy("hostname").limit(limit)),
    listByZone: (zone: string): Promise<DomainRow[]> =>
      db.read(tables.selectFrom("worker_domains").selectAll().where("zone_id", "=", zone)),
    list(account: string, filter: DomainFilter): Promise<DomainRow[]> {
      let query = tables.selectFrom("worker_domains").selectAll().where("account_id", "=", account);
      for (const [name, column] of Object.entries(FILTER_COLUMNS) as [
        keyof DomainFilter,
        (typeof FILTER_COLUMNS)["zone"],
      ][]) {
        const value = filter[name];
        if (value !== undefined) query = query.where(column, "=", value);
      }
      return db.read(query.orderBy("hostname"));
    },
    async find(account: string, id: string): Promise<DomainRow | undefined> {
      const query = tables.selectFrom("worker_domains").selectAll().where("id", "=", id);
      return (await db.read(query.where("account_id", "=", account)))[0];
    },
    rename: (tx: Kysely<unknown>, { account, from, to }: ScriptRename) =>
      (tx as unknown as Kysely<WorkerRoutingTables>)
        .updateTable("worker_domains")
        .set({ script: to })
        .where("account_id", "=", account)
        .where("script", "=", from)
        .execute(),
    async listByHostnames(hostnames: readonly string[]): Promise<DomainRow[]> {
      if (hostnames.length === 0) return [];
      return db.read(tables.selectFrom("worker_domains").selectAll().where("hostname", "in", hostnames));
    },

    /**
     * Writes and deletes rows atomically; a row replaces an existing row with the same id. Resolves with false if a
     * concurrent request has taken a host name.
     */
    async change(upsertedRows: readonly DomainRow[], removedIds: readonly string[]): Promise<boolean> {
      try {
        await db.transaction<WorkerRoutingTables, void>(async (tx) => {
          const ids = [...removedIds, ...upsertedRows.map(({ id }) => id)];
          if (ids.length > 0) await tx.deleteFrom("worker_domains").where("id", "in", ids).execute();
          if (upsertedRows.length > 0)
            await tx
              .insertInto("worker_domains")
              .values([...upsertedRows])
              .execute();
        });
        return true;
      } catch (err) {
        if (isUniqueViolation(err)) return false;
        throw err;
      }
    },
    deleteByZone: (zone: string) => db.write(tables.deleteFrom("worker_domains").where("zone_id", "=", zone)),
  };
}
