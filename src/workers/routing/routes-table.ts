import type { Kysely } from "kysely";
import { isUniqueViolation, type Db } from "../../store/index.ts";
import { routingLimits } from "./limits.ts";
import type { RouteRow, RoutingTables } from "./schema.ts";

export type RoutesTable = ReturnType<typeof createRoutesTable>;

type Tables = Kysely<RoutingTables>;
/** `taken`: the existing route with the pattern. */
export type Written = "written" | "missing" | "zone full" | "server full" | { taken: RouteRow };

const { routesPerZone, total } = routingLimits;

export function createRoutesTable(db: Db) {
  const tables = db.tables<RoutingTables>();

  const withKey = (from: Tables, { zone_id, pattern_key }: RouteRow) =>
    from
      .selectFrom("worker_routes")
      .selectAll()
      .where("zone_id", "=", zone_id)
      .where("pattern_key", "=", pattern_key)
      .executeTakeFirst();

  async function count(from: Tables, zone?: string): Promise<number> {
    const all = from.selectFrom("worker_routes").select((eb) => eb.fn.countAll<number>().as("count"));
    const { count: found } = await (
      zone === undefined ? all : all.where("zone_id", "=", zone)
    ).executeTakeFirstOrThrow();
    return Number(found);
  }

  /** Repeats once after a concurrent insertion of the same pattern, which is then found. */
  async function write(work: (tx: Tables) => Promise<Written>): Promise<Written> {
    try {
      return await db.transaction<RoutingTables, Written>(work);
    } catch (err) {
      if (!isUniqueViolation(err)) throw err;
      return db.transaction<RoutingTables, Written>(work);
    }
  }

  return {
    all: (limit: number): Promise<RouteRow[]> => db.read(tables.selectFrom("worker_routes").selectAll().limit(limit)),
    ofZone: (zone: string): Promise<RouteRow[]> =>
      db.read(tables.selectFrom("worker_routes").selectAll().where("zone_id", "=", zone).orderBy("pattern_key")),
    ofScript: (account: string, script: string): Promise<RouteRow[]> =>
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
    withKey: (row: RouteRow) => withKey(tables, row),

    add: (row: RouteRow): Promise<Written> =>
      write(async (tx) => {
        const taken = await withKey(tx, row);
        if (taken !== undefined) return { taken };
        if ((await count(tx, row.zone_id)) >= routesPerZone) return "zone full";
        if ((await count(tx)) >= total) return "server full";
        await tx.insertInto("worker_routes").values(row).execute();
        return "written";
      }),

    update: (row: RouteRow): Promise<Written> =>
      write(async (tx) => {
        const taken = await withKey(tx, row);
        if (taken !== undefined && taken.id !== row.id) return { taken };
        const changed = await tx
          .updateTable("worker_routes")
          .set(row)
          .where("id", "=", row.id)
          .where("zone_id", "=", row.zone_id)
          .returning("id")
          .execute();
        return changed.length === 0 ? "missing" : "written";
      }),

    /** Makes the routes of the script exactly these; existing ones keep their ids. */
    replace: (account: string, script: string, rows: RouteRow[]): Promise<Written> =>
      write(async (tx) => {
        const kept: string[] = [];
        for (const row of rows) {
          const there = await withKey(tx, row);
          if (there !== undefined && there.script !== script) return { taken: there };
          if (there === undefined) await tx.insertInto("worker_routes").values(row).execute();
          kept.push(there?.id ?? row.id);
        }
        const old = tx.deleteFrom("worker_routes").where("account_id", "=", account).where("script", "=", script);
        await (kept.length === 0 ? old : old.where("id", "not in", kept)).execute();
        for (const zone of new Set(rows.map(({ zone_id }) => zone_id)))
          if ((await count(tx, zone)) > routesPerZone) throw new Full("zone full");
        if ((await count(tx)) > total) throw new Full("server full");
        return "written";
      }).catch((err: unknown): Written => {
        if (err instanceof Full) return err.what;
        throw err;
      }),

    async delete(zone: string, id: string): Promise<boolean> {
      const query = tables.deleteFrom("worker_routes").where("id", "=", id).where("zone_id", "=", zone);
      return (await db.write(query)).affected > 0;
    },
    deleteOfScript: (account: string, script: string) =>
      db.write(tables.deleteFrom("worker_routes").where("account_id", "=", account).where("script", "=", script)),
    deleteOfZone: (zone: string) => db.write(tables.deleteFrom("worker_routes").where("zone_id", "=", zone)),
  };
}

/** Rolls the transaction back. */
class Full extends Error {
  readonly what: "zone full" | "server full";
  constructor(what: "zone full" | "server full") {
    super(what);
    this.what = what;
  }
}
