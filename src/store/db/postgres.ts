import { setTimeout as sleep } from "node:timers/promises";
import { Kysely, PostgresDialect, sql } from "kysely";
import { Fault } from "../../kernel/index.ts";
import { isStoreError, storeErrors } from "../errors.ts";
import type { Db } from "./port.ts";
import { createGuardedPool } from "./postgres-connection.ts";

/** The settings group `database`. */
export interface PostgresOptions {
  /**
   * The servers, one of which is the primary: `postgres://user:password@h1:5432,h2:5432/database`;
   * `?host=/run/postgresql` for a Unix socket.
   */
  url: string;
  /** Maximum number of connections. Default 10. */
  connections?: number;
  /** Time limit of a query, after which a server that does not respond counts as lost. Default 15. */
  timeout_seconds?: number;
  /** Reject a server without synchronous replication. Default false. */
  replicated?: boolean;
}

const DEFAULT_TIMEOUT_SECONDS = 15;

/**
 * Opens a PostgreSQL database, which several processes can share. Throws StoreError if no primary responds, or if the
 * primary could lose acknowledged commits. Each new connection is checked in the same way.
 *
 * After the loss of a connection, reads are repeated on another one. A write fails with `outcomeUnknown` if the server
 * may have stored it, and with `unreachable` otherwise.
 */
export async function openPostgres({
  url,
  connections = 10,
  timeout_seconds: timeoutSeconds = DEFAULT_TIMEOUT_SECONDS,
  replicated = false,
}: PostgresOptions): Promise<Db> {
  const pool = createGuardedPool({ url, connections, timeoutMs: timeoutSeconds * 1000, replicated });
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
    await sql`select 1`.execute(kysely);
  } catch (err) {
    await close();
    throw err;
  }

  return {
    dialect: "postgres",
    isShared: true,
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
    withoutTimeLimit: pool.runWithoutTimeLimit,
    close,
  };
}

const COLLISION_CODES = new Set(["40001", "40P01"]); // serialization_failure, deadlock_detected
const MAX_ATTEMPTS = 20;

async function retryCollisions<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (err) {
      // The server has become a standby, and has rolled back the transaction.
      if (attempts === 1 && isStoreError(err, "databaseReadOnly")) continue;
      if (!(err instanceof Error && "code" in err && COLLISION_CODES.has(String(err.code)))) throw err;
      if (attempts === MAX_ATTEMPTS)
        throw storeErrors.busy({ reason: `a transaction collided with others ${MAX_ATTEMPTS} times` }, { cause: err });
      // A random delay, so that the same two transactions do not collide again.
      await sleep(Math.random() * Math.min(100, 2 ** attempts));
    }
  }
}
