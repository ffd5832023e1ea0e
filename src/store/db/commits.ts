import type { Compilable, CompiledQuery, Kysely } from "kysely";
import type { Db, Written } from "./port.ts";

/** Writes of many at once: what is asked for at the same moment goes to the disk together. */
export interface Commits {
  /** As Db.write. */
  write: Db["write"];
  /** All or none of them. */
  all(queries: Compilable<unknown>[]): Promise<void>;
}

interface Asked {
  queries: CompiledQuery[];
  resolve(results: Written<unknown>[]): void;
  reject(err: unknown): void;
}

/** Groups of one commit. A message with its body is one, of at most 64 KiB and as many recipients as it has. */
const MOST = 200;
/** How long those that come in turn are waited for after a commit with company: as long as that took, within these bounds. */
const PAUSE_MS = { least: 2, most: 10 };

/**
 * SQLite has one writer, and nothing else goes on while a commit is written: twenty sessions that each come to their end in another round of
 * the event loop would pay twenty fsyncs, and wait for each other's. So a commit takes all that has come, and where several came the next one
 * lets as much time pass as the last has cost. Who comes alone is never kept waiting. PostgreSQL groups commits itself.
 */
export function createCommits(db: Db): Commits {
  if (db.dialect === "postgres") {
    return {
      write: db.write,
      all: (queries) =>
        db.transaction<unknown, void>(
          async (tx) =>
            void (await runAll(
              tx,
              queries.map((query) => query.compile()),
            )),
        ),
    };
  }
  const waiting: Asked[] = [];
  let busy = false;
  let last = { end: -Infinity, pauseMs: 0 };

  function ask(queries: CompiledQuery[]): Promise<Written<unknown>[]> {
    return new Promise((resolve, reject) => {
      waiting.push({ queries, resolve, reject });
      if (!busy) begin();
    });
  }

  function begin() {
    busy = true;
    const pauseMs = last.end + last.pauseMs - performance.now();
    // After this round's I/O callbacks, which may bring company.
    if (pauseMs <= 0) setImmediate(commitAll);
    else setTimeout(commitAll, pauseMs);
  }

  async function commitAll() {
    const now = waiting.splice(0, MOST);
    const start = performance.now();
    try {
      const results = await commit(now.map(({ queries }) => queries));
      for (const [index, { resolve }] of now.entries()) resolve(results[index]!);
    } catch (err) {
      // One that fails must not fail its neighbours.
      if (now.length === 1) now[0]!.reject(err);
      else for (const one of now) await commit([one.queries]).then(([result]) => one.resolve(result!), one.reject);
    }
    const end = performance.now();
    last = { end, pauseMs: now.length === 1 ? 0 : Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, end - start)) };
    busy = false;
    if (waiting.length > 0) begin();
  }

  function commit(groups: CompiledQuery[][]): Promise<Written<unknown>[][]> {
    const [first] = groups;
    // One statement needs no transaction.
    if (groups.length === 1 && first!.length === 1)
      return db.write({ compile: () => first![0]! }).then((result) => [[result]]);
    return db.transaction<unknown, Written<unknown>[][]>(async (tx) => {
      const results: Written<unknown>[][] = [];
      for (const queries of groups) results.push(await runAll(tx, queries));
      return results;
    });
  }

  return {
    write: async <Row>(query: Compilable<Row>) => (await ask([query.compile()]))[0] as Written<Row>,
    all: async (queries) => void (queries.length > 0 && (await ask(queries.map((query) => query.compile())))),
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
