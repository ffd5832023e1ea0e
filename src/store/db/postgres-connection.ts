import { AsyncLocalStorage } from "node:async_hooks";
import { type CustomTypesConfig, types as standardTypes } from "pg";
import type { PostgresPool, PostgresPoolClient } from "kysely";
import { Fault, messageOf } from "../../kernel/index.ts";
import { storeErrors } from "../errors.ts";
import { parsePostgresUrl } from "./postgres-address.ts";
import { fromPostgres, isConnectionLost, isReadOnlyError, ResponseTimeout } from "./postgres-errors.ts";
import { createSessionPool } from "./postgres-pool.ts";
import { createPrimaryConnector, type PostgresSession } from "./postgres-session.ts";

/**
 * The connection pool for Kysely. Returns values as SQLite does, converts errors to StoreErrors, rejects writes that
 * bypass an open transaction, and retries a query after the loss of its connection if that is safe.
 */
interface GuardedPool extends PostgresPool {
  /** Marks `work` as inside a transaction. */
  runInTransaction<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Connections that `work` acquires have no time limits. */
  runWithoutTimeLimit<Result>(work: () => Promise<Result>): Promise<Result>;
}

interface GuardedPoolOptions {
  url: string;
  connections: number;
  timeoutMs: number;
  replicated: boolean;
}

/** Maximum time that a query waits for a connection. */
const MAX_WAIT_MS = 10_000;

export function createGuardedPool({ url, connections, timeoutMs, replicated }: GuardedPoolOptions): GuardedPool {
  const address = parsePostgresUrl(url);
  const primary = createPrimaryConnector(address);
  const pool = createSessionPool({
    open: () => primary.connect({ name: "reelpost", timeoutMs, replicated, types }),
    max: connections,
    waitMs: Math.min(MAX_WAIT_MS, timeoutMs),
  });
  const transaction = new AsyncLocalStorage<{ open: boolean }>();
  const unlimited = new AsyncLocalStorage<true>();

  async function acquire(): Promise<PostgresSession> {
    const session = await pool.acquire();
    if (unlimited.getStore()) {
      try {
        await session.removeTimeLimit();
      } catch (err) {
        pool.release(session, true);
        throw fromPostgres(err, address.label);
      }
    }
    return session;
  }

  function abandon(session: PostgresSession, err: unknown) {
    // The server does not respond, or has been demoted, so its other connections are closed as well.
    if (err instanceof ResponseTimeout || isReadOnlyError(err)) {
      primary.suspect(session.host);
      pool.renew();
    }
    pool.release(session, true);
  }

  async function connect(): Promise<PostgresPoolClient> {
    const outerTransaction = transaction.getStore();
    let session: PostgresSession | undefined = await acquire();
    let inTransaction = false;

    async function query(sql: string, parameters: readonly unknown[]) {
      if (outerTransaction?.open && !/^\s*select\b/i.test(sql))
        throw new Fault("a write through `db` inside a transaction would not be part of it: use `tx`");
      const kind = kindOf(sql);
      for (let attempt = 1; ; attempt++) {
        if (session === undefined) {
          // The server rolled back the transaction when its connection ended.
          if (kind === "rollback") return { command: "ROLLBACK", rows: [], rowCount: null };
          throw storeErrors.unreachable({ address: address.label, reason: "the connection was lost" });
        }
        const current: PostgresSession = session;
        try {
          const result = await current.query(sql, parameters as unknown[]);
          if (current.isUnreplicated) {
            session = undefined;
            pool.release(current, true);
            const reason = "the wait for the synchronous standby was cancelled";
            throw storeErrors.outcomeUnknown({ address: address.label, reason });
          }
          if (kind === "begin") inTransaction = true;
          else if (kind === "commit" || kind === "rollback") inTransaction = false;
          return result;
        } catch (err) {
          if (session === undefined || !(current.isLost || isConnectionLost(err)))
            throw fromPostgres(err, address.label);
          session = undefined;
          abandon(current, err);
          // Safe to repeat: a read, a BEGIN, and a write that a standby rejected before it had any effect.
          const isRepeatable = !inTransaction && (kind === "read" || kind === "begin" || isReadOnlyError(err));
          if (isRepeatable && attempt === 1) session = await acquire();
          else if (!isReadOnlyError(err) && (kind === "commit" || (kind === "other" && !inTransaction)))
            throw storeErrors.outcomeUnknown({ address: address.label, reason: messageOf(err) }, { cause: err });
          else throw fromPostgres(err, address.label);
        }
      }
    }

    return {
      query,
      release(destroy?: boolean) {
        const last = session;
        session = undefined;
        if (last !== undefined) pool.release(last, destroy === true || unlimited.getStore() === true);
      },
    } as unknown as PostgresPoolClient;
  }

  return {
    connect,
    end: () => pool.end(),
    options: {},
    async runInTransaction(work) {
      const transactionMark = { open: true };
      try {
        return await transaction.run(transactionMark, work);
      } finally {
        transactionMark.open = false;
      }
    },
    runWithoutTimeLimit: (work) => unlimited.run(true, work),
  };
}

type StatementKind = "read" | "begin" | "commit" | "rollback" | "other";

function kindOf(sql: string): StatementKind {
  const word = /^\s*(select|begin|start|commit|rollback)\b(?!\s+to\b)/i.exec(sql)?.[1]?.toLowerCase();
  if (word === "select") return "read";
  if (word === "begin" || word === "start") return "begin";
  return word === "commit" || word === "rollback" ? word : "other";
}

/** Object ids of PostgreSQL types for which pg returns a different form from node:sqlite. */
const oid = { int8: 20, numeric: 1700, bytea: 17 };

const types: CustomTypesConfig = {
  getTypeParser(id: number, format?: "text" | "binary") {
    const standardParser = standardTypes.getTypeParser(id, format as "text") as (value: string) => unknown;
    // count() returns int8; sum() over bigint returns numeric.
    if (id === oid.int8 || id === oid.numeric) return toNumber;
    if (id === oid.bytea)
      return (value: string) => {
        const bytes = standardParser(value) as Buffer;
        return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      };
    return standardParser;
  },
};

function toNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new Fault(`${text} does not fit a JavaScript number`);
  return value;
}
