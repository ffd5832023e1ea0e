import type { Kysely } from "kysely";
import { isUniqueViolation, type Db } from "../../store/index.ts";
import type { ScriptRename } from "../scripts/references.ts";
import { routingLimits } from "./limits.ts";
import type { RouteRow, WorkerRoutingTables } from "./schema.ts";

export type RoutesTable = ReturnType<typeof createRoutesTable>;

type RoutingDb = Kysely<WorkerRoutingTables>;
/** `taken` is the existing route with the same pattern. */
export type WriteResult = "written" | "missing" | "zone full" | "server full" | { taken: RouteRow };

const { routesPerZone, perServer } = routingLimits;

export function createRoutesTable(db: Db) {
  const tables = db.tables<WorkerRoutingTables>();

  const findByPattern = (from: RoutingDb, { zone_id, pattern_key }: RouteRow) =>
    from
      .selectFrom("worker_routes")
      .selectAll()
      .where("zone_id", "=", zone_id)
      .where("pattern_key", "=", pattern_key)
      .executeTakeFirst();

  async function countRoutes(from: RoutingDb, zone?: string): Promise<number> {
    const query = from.selectFrom("worker_routes").select((eb) => eb.fn.countAll<number>().as("count"));
    const { count: routeCount } = await (
      zone === undefined ? query : query.where("zone_id", "=", zone)
    ).executeTakeFirstOrThrow();
    return Number(routeCount);
  }

  /** Retries once after a concurrent insertion of the same pattern; the second attempt finds it. */
  async function write(work: (tx: RoutingDb) => Promise<WriteResult>): Promise<WriteResult> {
    try {
      return await db.transaction<WorkerRoutingTables, WriteResult>(work);
    } catch (err) {
      if (!isUniqueViolation(err)) throw err;
      return db.transaction<WorkerRoutingTables, WriteResult>(work);
    }
  }

  return {
    all: (limit: number): Promise<RouteRow[]> => db.read(tables.selectFrom("worker_routes").selectAll().limit(limit)),
    listByZone: (zone: string): Promise<RouteRow[]> =>
      db.read(tables.selectFrom("worker_routes").selectAll().where("zone_id", "=", zone).orderBy("pattern_key")),
    listByScript: (account: string, script: string): Promise<RouteRow[]> =>
      db.read(
        tables
          .selectFrom("worker_routes")
          .selectAll()
          .where("account_id", "=", account)
          .where("script", "=", script)
          .orderBy("pattern_key"),
      ),
    async find(zone: string, id: string): Promise<RouteRow | undefined> {
      const query = tables.selectFrom("worker_routes").selectAll().where("id", "=", id);
      return (await db.read(query.where("zone_id", "=", zone)))[0];
    },
    findByPattern: (row: RouteRow) => findByPattern(tables, row),

    add: (row: RouteRow): Promise<WriteResult> =>
      write(async (tx) => {
        const existingRoute = await findByPattern(tx, row);
        if (existingRoute !== undefined) return { taken: existingRoute };
        if ((await countRoutes(tx, row.zone_id)) >= routesPerZone) return "zone full";
        if ((await countRoutes(tx)) >= perServer) return "server full";
        await tx.insertInto("worker_routes").values(row).execute();
        return "written";
      }),

    update: (row: RouteRow): Promise<WriteResult> =>
      write(async (tx) => {
        const conflictingRoute = await findByPattern(tx, row);
        if (conflictingRoute !== undefined && conflictingRoute.id !== row.id) return { taken: conflictingRoute };
        const updatedRows = await tx
          .updateTable("worker_routes")
          .set(row)
          .where("id", "=", row.id)
          .where("zone_id", "=", row.zone_id)
          .returning("id")
          .execute();
        return updatedRows.length === 0 ? "missing" : "written";
      }),

    /** Replaces all routes of the script. Routes whose pattern already exists keep their ids. */
    replace: (account: string, script: string, rows: RouteRow[]): Promise<WriteResult> =>
      write(async (tx) => {
        const keptIds: string[] = [];
        for (const row of rows) {
          const existingRow = await findByPattern(tx, row);
          if (existingRow !== undefined && existingRow.script !== script) return { taken: existingRow };
          if (existingRow === undefined) await tx.insertInto("worker_routes").values(row).execute();
          keptIds.push(existingRow?.id ?? row.id);
        }
        const deleteScriptRoutes = tx
          .deleteFrom("worker_routes")
          .where("account_id", "=", account)
          .where("script", "=", script);
        await (keptIds.length === 0 ? deleteScriptRoutes : deleteScriptRoutes.where("id", "not in", keptIds)).execute();
        for (const zone of new Set(rows.map(({ zone_id }) => zone_id)))
          if ((await countRoutes(tx, zone)) > routesPerZone) throw new LimitReached("zone full");
        if ((await countRoutes(tx)) > perServer) throw new LimitReached("server full");
        return "written";
      }).catch((err: unknown): WriteResult => {
        if (err instanceof LimitReached) return err.limit;
        throw err;
      }),

    async delete(zone: string, id: string): Promise<boolean> {
      const query = tables.deleteFrom("worker_routes").where("id", "=", id).where("zone_id", "=", zone);
      return (await db.write(query)).affected > 0;
    },
    deleteByScript: (account: string, script: string) =>
      db.write(tables.deleteFrom("worker_routes").where("account_id", "=", account).where("script", "=", script)),
    rename: (tx: Kysely<unknown>, { account, from, to }: ScriptRename) =>
      (tx as unknown as Kysely<WorkerRoutingTables>)
        .updateTable("worker_routes")
        .set({ script: to })
        .where("account_id", "=", account)
        .where("script", "=", from)
        .execute(),
    deleteByZone: (zone: string) => db.write(tables.deleteFrom("worker_routes").where("zone_id", "=", zone)),
  };
}

/** Thrown to roll the transaction back. */
class LimitReached extends Error {
  readonly limit: "zone full" | "server full";
  constructor(limit: "zone full" | "server full") {
    super(
      limit === "zone full" ? "the zone has reached its limit of routes" : "the server has reached its limit of routes",
    );
    this.limit = limit;
  }
}
