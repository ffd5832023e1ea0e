import type { Compilable, CompiledQuery, Kysely } from "kysely";
import type { Db, Written } from "./port.ts";

/** Group commit: concurrent writes share one fsync. */
export interface GroupCommitter {
  /** Like Db.write. */
  write: Db["write"];
  /** Writes all queries atomically. */
  writeAtomically(queries: Compilable<unknown>[]): Promise<void>;
}

interface PendingWrite {
  queries: CompiledQuery[];
  resolve(results: Written<unknown>[]): void;
  reject(err: unknown): void;
}

/** Maximum number of groups per commit. A message with its body is one group, of at most 64 KiB plus its recipients. */
const MAX_GROUPS_PER_COMMIT = 200;
/**
 * After a commit with several groups, the next commit waits for more as long as that commit took, within these bounds.
 */
const PAUSE_MS = { least: 2, most: 10 };

/**
 * SQLite has one writer, and everything else waits during a commit: twenty sessions that finish in different event loop
 * turns would cost twenty fsyncs and wait for each other. So a commit includes everything pending, and after a shared
 * commit the next one is delayed by the duration of the last one. A single caller never waits. PostgreSQL has built-in
 * group commit.
 */
export function createGroupCommitter(db: Db): GroupCommitter {
  if (db.dialect === "postgres") {
    return {
      write: db.write,
      writeAtomically: (queries) =>
        db.transaction<unknown, void>(
          async (tx) =>
            void (await runAll(
              tx,
              queries.map((query) => query.compile()),
            )),
        ),
    };
  }
  const waitingWrites: PendingWrite[] = [];
  let isBusy = false;
  let last = { end: -Infinity, pauseMs: 0 };

  function requestWrite(queries: CompiledQuery[]): Promise<Written<unknown>[]> {
    return new Promise((resolve, reject) => {
      waitingWrites.push({ queries, resolve, reject });
      if (!isBusy) beginCommit();
    });
  }

  function beginCommit() {
    isBusy = true;
    const pauseMs = last.end + last.pauseMs - performance.now();
    // Runs after the I/O callbacks of this turn, which may add writes.
    if (pauseMs <= 0) setImmediate(commitAll);
    else setTimeout(commitAll, pauseMs);
  }

  async function commitAll() {
    const now = waitingWrites.splice(0, MAX_GROUPS_PER_COMMIT);
    const start = performance.now();
    try {
      const results = await commit(now.map(({ queries }) => queries));
      for (const [index, { resolve }] of now.entries()) resolve(results[index]!);
    } catch (err) {
      // A failing group must not fail the others.
      if (now.length === 1) now[0]!.reject(err);
      else for (const one of now) await commit([one.queries]).then(([result]) => one.resolve(result!), one.reject);
    }
    const end = performance.now();
    last = { end, pauseMs: now.length === 1 ? 0 : Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, end - start)) };
    isBusy = false;
    if (waitingWrites.length > 0) beginCommit();
  }

  function commit(groups: CompiledQuery[][]): Promise<Written<unknown>[][]> {
    const [first] = groups;
    // A single statement needs no transaction.
    if (groups.length === 1 && first!.length === 1)
      return db.write({ compile: () => first![0]! }).then((result) => [[result]]);
    return db.transaction<unknown, Written<unknown>[][]>(async (tx) => {
      const results: Written<unknown>[][] = [];
      for (const queries of groups) results.push(await runAll(tx, queries));
      return results;
    });
  }

  return {
    write: async <Row>(query: Compilable<Row>) => (await requestWrite([query.compile()]))[0] as Written<Row>,
    writeAtomically: async (queries) =>
      void (queries.length > 0 && (await requestWrite(queries.map((query) => query.compile())))),
  };
}

async function runAll(tx: Kysely<unknown>, queries: CompiledQuery[]): Promise<Written<unknown>[]> {
  const results: Written<unknown>[] = [];
  for (const query of queries) {
    const { rows, numAffectedRows } = await tx.executeQuery(query);
    results.push({ rows, affected: Number(numAffectedRows ?? rows.length) });
  }
  return results;
}
