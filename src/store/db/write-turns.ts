import { AsyncLocalStorage } from "node:async_hooks";
import type { CompiledQuery } from "kysely";
import { Fault } from "../../kernel/index.ts";
import { storeErrors } from "../errors.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";

/**
 * Who may write now. SQLite has one writer and this process one writing connection, so a transaction that awaits something
 * must keep every other write off it: else a stranger's acknowledged write would be rolled back with the transaction.
 */
export interface WriteTurns {
  /** Runs as soon as no transaction is open, on its own. */
  alone<Row>(query: CompiledQuery): Promise<Result<Row>>;
  /** Runs with whatever else was asked for in this round of the event loop, in one commit. */
  together<Row>(query: CompiledQuery): Promise<Result<Row>>;
  /** Waits for its turn, then keeps all others waiting until the returned function is called. */
  hold(): Promise<() => void>;
  /** Marks what `work` does as inside the transaction that holds the turn. */
  inside<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Resolves when everything asked for before is through (or stuck for longer than anyone waits); whatever comes later is refused. */
  close(): Promise<void>;
}

type Result<Row> = { rows: Row[]; affected: number };
type Single = { query: CompiledQuery; resolve(result: Result<never>): void; reject(reason: unknown): void };
type Waiting = ({ kind: "together" | "alone" } & Single) | { kind: "hold"; resolve(): void; reject(reason: unknown): void };

const MAX_WAITING = 20_000;
const MAX_TOGETHER = 512;

export function createWriteTurns(writer: SqliteConnection, { patienceMs = 30_000 } = {}): WriteTurns {
  const waiting: Waiting[] = [];
  const transaction = new AsyncLocalStorage<object>();
  let holder: object | undefined;
  let scheduled = false;
  let closed = false;

  function refuse() {
    if (closed) throw new Fault("the database is closed");
    if (holder && transaction.getStore() === holder) throw new Fault("a write through `db` inside a transaction would wait for itself: use `tx`");
  }

  function wait(entry: Waiting) {
    if (waiting.length >= MAX_WAITING) return entry.reject(storeErrors.busy({ reason: `${MAX_WAITING} writes are waiting` }));
    waiting.push(entry);
  }

  function serve() {
    scheduled = false;
    let done = 0;
    while (!holder && done < waiting.length) {
      const first = waiting[done]!;
      if (first.kind === "hold") {
        done++;
        holder = {};
        first.resolve();
      } else if (first.kind === "alone") {
        done++;
        runAlone(writer, first);
      } else {
        const batch: Single[] = [];
        for (let next = waiting[done]; next?.kind === "together" && batch.length < MAX_TOGETHER; next = waiting[done]) {
          batch.push(next);
          done++;
        }
        commitTogether(writer, batch);
      }
    }
    waiting.splice(0, done);
  }

  function hold(): Promise<() => void> {
    return new Promise<void>((resolve, reject) => {
      refuse();
      wait({ kind: "hold", resolve, reject });
      if (!holder) serve();
    }).then(() => {
      const impatient = setInterval(() => {
        const reason = storeErrors.busy({ reason: `a transaction has been open for more than ${patienceMs} ms` });
        for (const entry of waiting.splice(0)) entry.reject(reason);
      }, patienceMs);
      impatient.unref();
      return () => {
        clearInterval(impatient);
        holder = undefined;
        if (waiting.length > 0) serve();
      };
    });
  }

  return {
    hold,
    async close() {
      const turn = hold();
      closed = true;
      await turn.catch(() => {});
    },
    inside: (work) => transaction.run(holder!, work),
    alone: (query) =>
      new Promise((resolve, reject) => {
        refuse();
        wait({ kind: "alone", query, resolve, reject });
        if (!holder) serve();
      }),
    together: (query) =>
      new Promise((resolve, reject) => {
        refuse();
        wait({ kind: "together", query, resolve, reject });
        if (scheduled || holder) return;
        scheduled = true;
        // After this round's I/O callbacks: what they all write goes to the disk with one fsync.
        setImmediate(serve);
      }),
  };
}

function runAlone(writer: SqliteConnection, { query, resolve, reject }: Single) {
  try {
    resolve(writer.run(query));
  } catch (err) {
    reject(err);
  }
}

/**
 * One commit for many. A statement that fails undoes only itself (SQLite's ABORT conflict resolution), so its neighbours commit.
 * Where the whole transaction went away (disk full, a deferred constraint at commit) nobody has been answered yet: each runs again by itself.
 */
function commitTogether(writer: SqliteConnection, batch: Single[]) {
  if (batch.length === 1) return runAlone(writer, batch[0]!);
  const answers: (() => void)[] = [];
  try {
    writer.exec("begin immediate");
  } catch (err) {
    for (const { reject } of batch) reject(err);
    return;
  }
  try {
    for (const { query, resolve, reject } of batch) {
      try {
        const result = writer.run<never>(query);
        answers.push(() => resolve(result));
      } catch (err) {
        if (!writer.inTransaction) throw err;
        answers.push(() => reject(err));
      }
    }
    writer.exec("commit");
  } catch {
    if (writer.inTransaction) writer.exec("rollback");
    for (const single of batch) runAlone(writer, single);
    return;
  }
  for (const answer of answers) answer();
}
