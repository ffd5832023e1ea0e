import { DatabaseSync } from "node:sqlite";
import { createAuthorizer, type Authorizer } from "./authorize.ts";
import type { D1Limits } from "./limits.ts";

export const PAGE_BYTES = 4096;
/** How long to wait while a previous process still has the file open. */
const BUSY_TIMEOUT_MS = 5_000;

export interface DatabaseConnection {
  db: DatabaseSync;
  path: string;
  limits: D1Limits;
  authorizer: Authorizer;
  /** Returns the values from which the `meta` of a response is built. */
  counters(): { changes: number; lastRowId: number; pages: number };
  /** Runs the server's own statements. */
  exec(sql: string): void;
}

/**
 * Opens a file so that a commit waits for the disk and its SQL cannot access anything outside it. Throws if either
 * cannot be guaranteed.
 */
export function openConnection(path: string, limits: D1Limits): DatabaseConnection {
  const db = new DatabaseSync(path, {
    timeout: BUSY_TIMEOUT_MS,
    enableForeignKeyConstraints: true,
    enableDoubleQuotedStringLiterals: true,
    defensive: true,
    limits: {
      variableNumber: limits.parameters,
      column: limits.columns,
      functionArg: limits.functionArguments,
      likePatternLength: limits.patternBytes,
      length: limits.valueBytes,
      attach: 0,
    },
  });
  try {
    // page_size has an effect only until the file has its first page; WAL with FULL makes COMMIT wait for the disk.
    db.exec(
      `pragma page_size = ${PAGE_BYTES}; pragma journal_mode = wal; pragma synchronous = full; pragma journal_size_limit = 16777216`,
    );
    db.exec(`pragma max_page_count = ${Math.floor(limits.databaseBytes / PAGE_BYTES)}`);
    const mode = db
      .prepare(
        "select (select * from pragma_journal_mode) as journal, (select * from pragma_synchronous) as synchronous",
      )
      .get()!;
    if (mode.journal !== "wal" || mode.synchronous !== 2)
      throw new Error(
        `writes to ${path} would not be durable: journal_mode ${mode.journal}, synchronous ${mode.synchronous}`,
      );
    const authorizer = createAuthorizer();
    db.setAuthorizer(authorizer.authorize);
    return {
      db,
      path,
      limits,
      authorizer,
      counters: countersOf(db, authorizer),
      exec: (sql) => authorizer.trust(() => db.exec(sql)),
    };
  } catch (openError) {
    db.close();
    throw openError;
  }
}

/**
 * Returns a function that reads the counters. It trusts its statements at every step: after a schema change SQLite
 * recompiles them and calls the authorizer.
 */
function countersOf(db: DatabaseSync, authorizer: Authorizer) {
  const counter = (sql: string) => authorizer.trust(() => db.prepare(sql));
  const changes = counter("select total_changes(), last_insert_rowid()");
  const pages = counter("pragma page_count");
  changes.setReturnArrays(true);
  pages.setReturnArrays(true);
  return () =>
    authorizer.trust(() => {
      const [totalChanges, lastRowId] = changes.get() as unknown as [number, number];
      return { changes: totalChanges, lastRowId, pages: (pages.get() as unknown as [number])[0] };
    });
}
