import { AsyncLocalStorage } from "node:async_hooks";
import type { CompiledQuery } from "kysely";
import { Fault } from "../../kernel/index.ts";
import { isStoreError, storeErrors } from "../errors.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";

/**
 * Serializes writes. SQLite allows one writer and this process has one writing connection, so an open transaction must
 * exclude all other writes: otherwise an acknowledged write of another caller would be rolled back with the
 * transaction.
 */
export interface WriteQueue {
  /** Runs the query alone, as soon as no transaction is open. */
  writeAlone<Row>(query: CompiledQuery): Promise<Result<Row>>;
  /** Runs the query in one commit with all other writes of this event loop turn. */
  writeGrouped<Row>(query: CompiledQuery): Promise<Result<Row>>;
  /**
   * Begins a transaction when its turn comes. All other writes wait until the returned function is called, after COMMIT
   * or ROLLBACK.
   */
  begin(): Promise<() => void>;
  /** Marks `work` as inside the open transaction. */
  runInTransaction<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Resolves when all pending work is done (or timed out); later calls are rejected. */
  close(): Promise<void>;
}

type Result<Row> = { rows: Row[]; affected: number };
type Single = { query: CompiledQuery; resolve(result: Result<never>): void; reject(reason: unknown): void };
type Waiting =
  | ({ kind: "together" } & Single)
  | ({ kind: "alone" } & Single)
  | { kind: "begin"; resolve(): void; reject(reason: unknown): void };

const MAX_WAITING = 20_000;
const MAX_BATCH = 512;
/** Another process is writing: retry after this time instead of blocking the event loop inside SQLite. */
const BUSY_RETRY_MS = 10;

export function createWriteQueue(writer: SqliteConnection, { patienceMs = 30_000 } = {}): WriteQueue {
  const waitingEntries: Waiting[] = [];
  const transaction = new AsyncLocalStorage<object>();
  let openTransaction: object | undefined;
  let scheduledServe: NodeJS.Immediate | undefined;
  let retryTimer: NodeJS.Timeout | undefined;
  let busySince: number | undefined;
  let closed = false;

  function enqueue(entry: Waiting, now: boolean) {
    if (closed) return entry.reject(new Fault("the database is closed"));
    if (openTransaction && transaction.getStore() === openTransaction)
      return entry.reject(new Fault("a write through `db` inside a transaction would deadlock: use `tx`"));
    if (waitingEntries.length >= MAX_WAITING)
      return entry.reject(storeErrors.busy({ reason: `${MAX_WAITING} writes are waiting` }));
    waitingEntries.push(entry);
    if (openTransaction || retryTimer) return;
    // Runs after the I/O callbacks of this turn: all their writes share one fsync.
    if (now) serve();
    else scheduledServe ??= setImmediate(serve);
  }

  function serve() {
    clearImmediate(scheduledServe);
    clearTimeout(retryTimer);
    scheduledServe = retryTimer = undefined;
    while (!openTransaction && waitingEntries.length > 0) {
      try {
        serveFirst(waitingEntries[0]!);
        busySince = undefined;
      } catch (err) {
        if (isStoreError(err, "busy")) {
          busySince ??= performance.now();
          if (performance.now() - busySince < patienceMs) return void (retryTimer = setTimeout(serve, BUSY_RETRY_MS));
        }
        busySince = undefined;
        waitingEntries.shift()!.reject(err);
      }
    }
  }

  /** Throws without side effects if the transaction cannot begin, usually because another process is writing. */
  function serveFirst(first: Waiting) {
    if (first.kind === "together") {
      const end = waitingEntries.findIndex(({ kind }, index) => kind !== "together" || index === MAX_BATCH);
      const batch = waitingEntries.slice(0, end === -1 ? waitingEntries.length : end) as Single[];
      if (batch.length === 1) runAlone(writer, first);
      else commitTogether(writer, batch);
      waitingEntries.splice(0, batch.length);
    } else if (first.kind === "alone") {
      runAlone(writer, first);
      waitingEntries.shift();
    } else {
      writer.exec("begin immediate");
      openTransaction = {};
      waitingEntries.shift();
      first.resolve();
    }
  }

  async function begin() {
    await new Promise<void>((resolve, reject) => enqueue({ kind: "begin", resolve, reject }, true));
    const patienceTimer = setInterval(() => {
      const reason = storeErrors.busy({ reason: `a transaction has been open for more than ${patienceMs} ms` });
      for (const entry of waitingEntries.splice(0)) entry.reject(reason);
    }, patienceMs).unref();
    return () => {
      clearInterval(patienceTimer);
      openTransaction = undefined;
      serve();
    };
  }

  return {
    begin,
    runInTransaction: (work) => transaction.run(openTransaction!, work),
    writeAlone: (query) => new Promise((resolve, reject) => enqueue({ kind: "alone", query, resolve, reject }, true)),
    writeGrouped: (query) =>
      new Promise((resolve, reject) => enqueue({ kind: "together", query, resolve, reject }, false)),
    async close() {
      const everythingBefore = begin().then(() => writer.exec("rollback"));
      closed = true;
      await everythingBefore.catch(() => {});
    },
  };
}

function runAlone(writer: SqliteConnection, { query, resolve, reject }: Single) {
  try {
    resolve(writer.run(query));
  } catch (err) {
    if (isStoreError(err, "busy")) throw err;
    reject(err);
  }
}

/**
 * One commit for many writes. A failing statement only undoes itself (SQLite's ABORT conflict resolution), so the
 * others commit. If the whole transaction has been rolled back (disk full, a deferred constraint at commit), no caller
 * has received a result yet: each write runs again separately.
 */
function commitTogether(writer: SqliteConnection, batch: Single[]) {
  const outcomes: (() => void)[] = [];
  writer.exec("begin immediate");
  try {
    for (const { query, resolve, reject } of batch) {
      try {
        const result = writer.run<never>(query);
        outcomes.push(() => resolve(result));
      } catch (err) {
        if (!writer.inTransaction) throw err;
        outcomes.push(() => reject(err));
      }
    }
    writer.exec("commit");
  } catch {
    if (writer.inTransaction) writer.exec("rollback");
    for (const single of batch) {
      try {
        runAlone(writer, single);
      } catch (busy) {
        single.reject(busy);
      }
    }
    return;
  }
  for (const answer of outcomes) answer();
}
