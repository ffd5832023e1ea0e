import { AsyncLocalStorage } from "node:async_hooks";
import { type CustomTypesConfig, Pool, types as standardTypes } from "pg";
import type { PostgresPool, PostgresPoolClient } from "kysely";
import { Fault, messageOf, UserError } from "../../kernel/index.ts";
import { storeErrors } from "../errors.ts";

/**
 * The pool for Kysely: returns values as SQLite does, converts errors to StoreErrors, and rejects writes that bypass an
 * open transaction.
 */
interface GuardedPool extends PostgresPool {
  /** Marks `work` as inside a transaction. */
  runInTransaction<Result>(work: () => Promise<Result>): Promise<Result>;
}

export function createGuardedPool({ url, connections }: { url: string; connections: number }): GuardedPool {
  const address = connectionAddress(url);
  const pool = new Pool({
    connectionString: url,
    max: connections,
    types,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    application_name: "reelpost",
  });
  // A server restart also breaks idle connections: the pool drops them, and the next query reports the problem.
  pool.on("error", () => {});
  pool.on("connect", (client) => void client.on("error", () => {}));
  const transaction = new AsyncLocalStorage<{ open: boolean }>();

  async function connect(): Promise<PostgresPoolClient> {
    const outerTransaction = transaction.getStore();
    const client = await pool.connect().catch((err: unknown) => {
      throw fromPostgres(err, address);
    });
    return {
      query: async (sql: string, parameters: readonly unknown[]) => {
        if (outerTransaction?.open && !/^\s*select\b/i.test(sql))
          throw new Fault("a write through `db` inside a transaction would not be part of it: use `tx`");
        try {
          return await client.query(sql, parameters as unknown[]);
        } catch (err) {
          throw fromPostgres(err, address);
        }
      },
      release: (destroy?: boolean) => client.release(destroy),
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
  };
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

/** Host, port and database without user and password, for messages. */
export function connectionAddress(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed || !/^postgres(ql)?:$/.test(parsed.protocol)) {
    throw storeErrors.unreachable({
      address: "the database URL",
      reason: "it does not look like postgres://user:password@host:5432/database",
    });
  }
  return (parsed.searchParams.get("host") ?? parsed.host) + parsed.pathname;
}

/** SQLSTATE classes. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const UNREACHABLE_CODE =
  /^(08...|28...|3D000|53300|57P0[1-5]|E(CONN|HOST|NET|TIMEDOUT|NOTFOUND|PIPE|AI_).*|ENOENT|EACCES)$/;

export function fromPostgres(thrown: unknown, address: string): unknown {
  if (!(thrown instanceof Error) || thrown instanceof UserError) return thrown;
  // Node tries every address of a host name and collects the errors.
  const first: unknown = thrown instanceof AggregateError ? thrown.errors[0] : thrown;
  const code = first instanceof Error && "code" in first ? String(first.code) : "";
  const reason = messageOf(first);
  if (code === "53100") return storeErrors.diskFull({ what: `the database at ${address}` }, { cause: thrown });
  if (
    UNREACHABLE_CODE.test(code) ||
    /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/.test(
      reason,
    )
  ) {
    return storeErrors.unreachable({ address, reason }, { cause: thrown });
  }
  return thrown;
}
