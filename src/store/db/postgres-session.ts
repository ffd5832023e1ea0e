import type { Socket } from "node:net";
import { Client, type CustomTypesConfig, type QueryConfig, type QueryResult } from "pg";
import { messageOf } from "../../kernel/index.ts";
import { isStoreError, storeErrors } from "../errors.ts";
import type { PostgresAddress } from "./postgres-address.ts";
import { fromPostgres, NotPrimary, ResponseTimeout } from "./postgres-errors.ts";

/** A verified connection to the primary. */
export interface PostgresSession {
  /** The connected host, without user and password. */
  readonly host: string;
  readonly client: Client;
  readonly isLost: boolean;
  /** True if the server confirmed a commit without waiting for its synchronous standby. */
  isUnreplicated: boolean;
  /** Rejects with an error of pg, or with ResponseTimeout. */
  query(query: string | QueryConfig, parameters?: unknown[]): Promise<QueryResult>;
  /** Removes the time limits of queries and transactions on this connection. */
  removeTimeLimit(): Promise<void>;
  /** Called once, when the connection is lost. */
  onLost(listener: () => void): void;
  /** Aborts a pending query, and resolves when the connection is closed. */
  close(): Promise<void>;
}

interface SessionOptions {
  /** The application_name of the connection, for pg_stat_activity. */
  name: string;
  /** The connection counts as lost if the server does not respond to a query within this time. */
  timeoutMs: number;
  /** Reject a server that may confirm a commit before a standby has stored it. */
  replicated?: boolean | undefined;
  types?: CustomTypesConfig;
}

interface PrimaryConnector {
  /**
   * Tries the hosts in turn until it finds the primary. Throws StoreError unreachable, databaseReadOnly,
   * tooManyConnections, notDurable, notReplicated.
   */
  connect(options: SessionOptions): Promise<PostgresSession>;
  /** Makes later connections try the other hosts first. */
  suspect(host: string): void;
}

const CONNECT_TIMEOUT_MS = { onlyHost: 10_000, oneOfSeveral: 5_000 };
const KEEP_ALIVE_MS = 10_000;
const CLOSE_TIMEOUT_MS = 1_000;
/** The process of a transaction that is idle for this long has probably died; its locks must not remain. */
const IDLE_IN_TRANSACTION_MS = 60_000;

export function createPrimaryConnector(address: PostgresAddress): PrimaryConnector {
  const { hosts, label } = address;
  let preferred = 0;
  return {
    async connect(options) {
      const first = preferred;
      const failures: { host: string; error: unknown }[] = [];
      for (let step = 0; step < hosts.length; step++) {
        const at = (first + step) % hosts.length;
        const host = hosts[at]!;
        try {
          const limitMs = hosts.length === 1 ? CONNECT_TIMEOUT_MS.onlyHost : CONNECT_TIMEOUT_MS.oneOfSeveral;
          const timeoutMs = Math.min(limitMs, options.timeoutMs || Infinity);
          const session = await openSession(host.url, host.label, timeoutMs, options);
          preferred = at;
          return session;
        } catch (err) {
          failures.push({ host: host.label, error: fromPostgres(err, hosts.length === 1 ? label : host.label) });
        }
      }
      throw summaryOf(failures, label);
    },
    suspect(host) {
      const at = hosts.findIndex((each) => each.label === host);
      if (at === preferred) preferred = (at + 1) % hosts.length;
    },
  };
}

/** Returns the error of the primary if there is one; otherwise an error that lists the reason for each host. */
function summaryOf(failures: readonly { host: string; error: unknown }[], address: string): unknown {
  if (failures.length === 1) return failures[0]!.error;
  const decisive = failures.find(
    ({ error }) => !isStoreError(error, "unreachable") && !isStoreError(error, "databaseReadOnly"),
  );
  if (decisive !== undefined) return decisive.error;
  const reason = failures
    .map(({ host, error }) => `${host}: ${messageOf(error instanceof Error && error.cause ? error.cause : error)}`)
    .join("; ");
  const cause = { cause: failures[0]!.error };
  return failures.some(({ error }) => isStoreError(error, "databaseReadOnly"))
    ? storeErrors.databaseReadOnly({ address, reason }, cause)
    : storeErrors.unreachable({ address, reason }, cause);
}

async function openSession(
  url: string,
  host: string,
  connectTimeoutMs: number,
  { name, timeoutMs, replicated = false, types }: SessionOptions,
): Promise<PostgresSession> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    application_name: name,
    ...(types !== undefined && { types }),
  });
  const socket = () => (client as unknown as { connection: { stream: Socket } }).connection.stream;
  const lostListeners: (() => void)[] = [];
  let isLost = false;
  let limitMs = timeoutMs;
  const onLost = () => {
    if (isLost) return;
    isLost = true;
    for (const listener of lostListeners.splice(0)) listener();
  };
  // Without an error listener, a lost connection would crash the process. The pending query reports the error.
  client.on("error", onLost).on("end", onLost);

  const session: PostgresSession = {
    host,
    client,
    get isLost() {
      return isLost;
    },
    isUnreplicated: false,
    async query(query, parameters) {
      let isTimedOut = false;
      const limit = limitMs;
      const timer =
        limit > 0
          ? setTimeout(() => {
              isTimedOut = true;
              socket().destroy();
            }, limit)
          : undefined;
      try {
        return await client.query(query as string, parameters);
      } catch (err) {
        throw isTimedOut ? new ResponseTimeout(limit) : err;
      } finally {
        clearTimeout(timer);
      }
    },
    async removeTimeLimit() {
      limitMs = 0;
      await session.query("set statement_timeout = 0; set idle_in_transaction_session_timeout = 0");
    },
    onLost(listener) {
      if (isLost) listener();
      else lostListeners.push(listener);
    },
    async close() {
      // A server that does not respond would not confirm the end of the session either.
      const timer = setTimeout(() => socket().destroy(), CLOSE_TIMEOUT_MS);
      await client.end().finally(() => clearTimeout(timer));
    },
  };
  client.on("notice", ({ routine }) => {
    // An administrator or a shutdown cancelled the wait for the standby: the server confirms a commit that a failover
    // would lose.
    if (routine === "SyncRepWaitForLSN") session.isUnreplicated = true;
  });
  try {
    await client.connect();
    await verify(session, { timeoutMs, replicated });
    return session;
  } catch (err) {
    await session.close();
    throw err;
  }
}

interface ServerFacts {
  standby: boolean;
  read_only: string;
  fsync: string;
  synchronous_commit: string;
  standby_names: string;
}

/** Sets the time limits on the server, and checks that it is a primary that does not lose acknowledged writes. */
async function verify(session: PostgresSession, { timeoutMs, replicated }: { timeoutMs: number; replicated: boolean }) {
  // Set here because PgBouncer rejects these limits as startup parameters. The server cancels a slow query before the
  // connection counts as lost.
  const { rows } = await session.query(
    `select pg_is_in_recovery() as standby,
            current_setting('transaction_read_only') as read_only,
            current_setting('fsync') as fsync,
            current_setting('synchronous_commit') as synchronous_commit,
            current_setting('synchronous_standby_names') as standby_names,
            set_config('statement_timeout', $1, false),
            set_config('idle_in_transaction_session_timeout', $2, false)`,
    [String(Math.ceil(timeoutMs * 0.8)), String(IDLE_IN_TRANSACTION_MS)],
  );
  const facts = rows[0] as ServerFacts;
  const address = session.host;
  if (facts.standby) throw new NotPrimary("it is a standby");
  if (facts.read_only === "on") throw new NotPrimary("transaction_read_only is on");
  const { synchronous_commit: commit, standby_names: names } = facts;
  for (const [setting, found] of Object.entries({ fsync: facts.fsync, synchronous_commit: commit }))
    if (found === "off") throw storeErrors.notDurable({ path: "the PostgreSQL server", setting, found, wanted: "on" });
  if (!replicated) return;
  if (commit === "local") throw storeErrors.notReplicated({ address, problem: "synchronous_commit is local" });
  if (names.trim() === "") throw storeErrors.notReplicated({ address, problem: "synchronous_standby_names is empty" });
}
