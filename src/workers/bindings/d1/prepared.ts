import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Authorizer } from "./authorize.ts";
import type { SqlStatement } from "./sql-tokens.ts";

/** A statement with the counter that Node provides but its types lack. */
type Statement = StatementSync & { stat(counter: "fullscanStep"): number; resetStats(): void };

interface Prepared {
  statement: Statement;
  parameters: (string | null)[];
}

/** Compiled statements by their SQL; the least recently used is evicted first. */
interface PreparedStatements {
  cached(sql: string): Prepared | undefined;
  prepare(statement: SqlStatement): Statement;
  forget(sql: string): void;
}

const MAX_STATEMENTS = 200;
const MAX_CACHED_CHARACTERS = 1_000_000;

export function createPreparedStatements({
  db,
  authorizer,
}: {
  db: DatabaseSync;
  authorizer: Authorizer;
}): PreparedStatements {
  // A Map keeps insertion order: an entry that is deleted and reinserted is the most recently used one.
  const entries = new Map<string, Prepared>();
  let characters = 0;

  function compile(sql: string): Statement {
    const statement = db.prepare(sql) as Statement;
    statement.setReturnArrays(true);
    // Without this, integers above 2^53 make node:sqlite throw after a statement with RETURNING has already written.
    statement.setReadBigInts(true);
    return statement;
  }

  function cacheEntry(sql: string, entry: Prepared) {
    entries.set(sql, entry);
    characters += sql.length;
    for (const old of entries.keys()) {
      if (entries.size <= MAX_STATEMENTS && (characters <= MAX_CACHED_CHARACTERS || entries.size === 1)) return;
      forget(old);
    }
  }

  function forget(sql: string) {
    if (entries.delete(sql)) characters -= sql.length;
  }

  return {
    cached: (sql) => entries.get(sql),
    forget,
    prepare({ sql, parameters }) {
      const cachedEntry = entries.get(sql);
      if (cachedEntry) {
        entries.delete(sql);
        entries.set(sql, cachedEntry);
        return cachedEntry.statement;
      }
      authorizer.sawPragma = false;
      const statement = compile(sql);
      // Many pragmas take effect while they are compiled: a cached one would do nothing the next time.
      if (!authorizer.sawPragma) cacheEntry(sql, { statement, parameters });
      return statement;
    },
  };
}
