import { setTimeout as sleep } from "node:timers/promises";
import { Kysely, PostgresDialect, sql } from "kysely";
import { Fault } from "../../kernel/index.ts";
import { storeErrors } from "../errors.ts";
import type { Db } from "./port.ts";
import { createGuardedPool } from "./postgres-connection.ts";

interface PostgresOptions {
  /** The server: `postgres://user:password@host:5432/database`; `?host=/run/postgresql` for a unix socket. */
  url: string;
  /** Maximum number of connections. Default 10. */
  connections?: number;
}

/**
 * The engine for several machines. Throws StoreError if the server is unreachable or could lose acknowledged commits.
 */
export async function openPostgres({ url, connections = 10 }: PostgresOptions): Promise<Db> {
  const pool = createGuardedPool({ url, connections });
  // oxlint-disable-next-line no-explicit-any
  const kysely = new Kysely<any>({ dialect: new PostgresDialect({ pool }) });
  const pendingWork = new Set<Promise<unknown>>();
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= Promise.allSettled(pendingWork).then(() => kysely.destroy()));

  async function track<Result>(work: () => Promise<Result>): Promise<Result> {
    if (closed) throw new Fault("the database is closed");
    const running = work();
    pendingWork.add(running);
    return running.finally(() => pendingWork.delete(running));
  }

  try {
    await expectDurable(kysely);
  } catch (err) {
    await close();
    throw err;
  }

  return {
    dialect: "postgres",
    tables: () => kysely,
    transaction: <Tables, Result>(work: (tx: Kysely<Tables>) => Promise<Result>) =>
      track(() =>
        retryCollisions(() =>
          (kysely as Kysely<Tables>)
            .transaction()
            .setIsolationLevel("serializable")
            .execute((tx) => pool.runInTransaction(() => work(tx))),
        ),
      ),
    // PostgreSQL groups concurrent commits.
    write: async (query) => {
      const { rows, numAffectedRows } = await track(() => kysely.executeQuery(query.compile()));
      return { rows, affected: Number(numAffectedRows ?? 0) };
    },
    read: async (query) => (await kysely.executeQuery(query.compile())).rows,
    close,
  };
}

async function expectDurable(kysely: Kysely<unknown>) {
  const settings = sql<{
    name: string;
    setting: string;
  }>`select name, setting from pg_settings where name in ('fsync', 'synchronous_commit')`;
  const { rows } = await settings.execute(kysely);
  for (const { name, setting } of rows) {
    if (setting === "off")
      throw storeErrors.notDurable({ path: "the PostgreSQL server", setting: name, found: setting, wanted: "on" });
  }
}

const COLLISION_CODES = new Set(["40001", "40P01"]); // serialization_failure, deadlock_detected
const MAX_ATTEMPTS = 20;

async function retryCollisions<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (err) {
      if (!(err instanceof Error && "code" in err && COLLISION_CODES.has(String(err.code)))) throw err;
      if (attempts === MAX_ATTEMPTS)
        throw storeErrors.busy({ reason: `a transaction collided with others ${MAX_ATTEMPTS} times` }, { cause: err });
      // A random delay, so that the same two transactions do not collide again.
      await sleep(Math.random() * Math.min(100, 2 ** attempts));
    }
  }
}
