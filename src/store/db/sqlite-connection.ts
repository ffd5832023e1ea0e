import { closeSync, openSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { CompiledQuery } from "kysely";
import { messageOf, UserError } from "../../kernel/index.ts";
import { storeErrors } from "../errors.ts";
import { rowBuilder } from "./row-builder.ts";
import { freezeTargetOf } from "./sqlite-freeze.ts";

/** One connection with its prepared statements. All calls are synchronous. */
export interface SqliteConnection {
  run<Row>(query: Pick<CompiledQuery, "sql" | "parameters">): { rows: Row[]; affected: number };
  exec(sql: string): void;
  readonly inTransaction: boolean;
  close(): void;
}

/** Maximum number of prepared statements per connection; evicts the least recently used. */
const MAX_CACHED_STATEMENTS = 500;
/** How long SQLite blocks while another process holds a lock. Longer waits are handled by the write queue. */
const BUSY_TIMEOUT_MS = { opening: 5_000, writing: 20 };

export function connectSqlite(path: string, { readOnly = false } = {}): SqliteConnection {
  const sqlite = open(path, readOnly);
  const statements = new Map<
    string,
    { statement: StatementSync; toRow: ((values: readonly unknown[]) => object) | undefined }
  >();

  function prepareCached(sql: string) {
    let entry = statements.get(sql);
    if (entry) {
      // A Map iterates in insertion order: re-inserting makes the first entry the least recently used.
      statements.delete(sql);
    } else {
      const statement = sqlite.prepare(sql);
      const columns = statement.columns();
      if (columns.length > 0) statement.setReturnArrays(true);
      entry = { statement, toRow: columns.length > 0 ? rowBuilder(columns.map(({ name }) => name)) : undefined };
      if (statements.size >= MAX_CACHED_STATEMENTS) statements.delete(statements.keys().next().value!);
    }
    statements.set(sql, entry);
    return entry;
  }

  function run<Row>({ sql, parameters }: Pick<CompiledQuery, "sql" | "parameters">) {
    try {
      const { statement, toRow } = prepareCached(sql);
      const values = parameters as readonly SQLInputValue[];
      if (toRow === undefined) return { rows: [] as Row[], affected: Number(statement.run(...values).changes) };
      // node:sqlite would create rows without a prototype, while pg creates plain objects; callers always get plain
      // objects.
      const rows = (statement.all(...values) as unknown as unknown[][]).map(toRow) as Row[];
      return { rows, affected: rows.length };
    } catch (err) {
      throw fromSqlite(err, path);
    }
  }

  return {
    run,
    exec(sql) {
      try {
        sqlite.exec(sql);
      } catch (err) {
        throw fromSqlite(err, path);
      }
    },
    get inTransaction() {
      return sqlite.isTransaction;
    },
    close() {
      statements.clear();
      sqlite.close();
    },
  };
}

/** Created before SQLite creates it, which would use default permissions; `-wal` and `-shm` inherit the mode. */
function createForOwner(path: string): void {
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch {
    // The file already exists; SQLite reports other errors.
  }
}

function open(path: string, readOnly: boolean): DatabaseSync {
  let sqlite: DatabaseSync | undefined;
  try {
    if (path !== ":memory:") createForOwner(path);
    sqlite = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS.opening, enableForeignKeyConstraints: true });
    sqlite.exec("pragma journal_mode = wal");
    // FULL: in WAL mode NORMAL does not fsync at commit, so a power failure would lose acknowledged writes.
    sqlite.exec("pragma synchronous = full");
    // Otherwise a single burst would leave a large -wal file permanently.
    sqlite.exec("pragma journal_size_limit = 67108864");
    expect(sqlite, path, "journal_mode", "wal");
    expect(sqlite, path, "synchronous", 2);
    expect(sqlite, path, "foreign_keys", 1);
    // Not opened read-only: after a crash of another process a reader must be able to rebuild the WAL index.
    sqlite.exec(readOnly ? "pragma query_only = on" : `pragma busy_timeout = ${BUSY_TIMEOUT_MS.writing}`);
    return sqlite;
  } catch (err) {
    if (sqlite?.isOpen) sqlite.close();
    throw fromSqlite(err, path);
  }
}

function expect(sqlite: DatabaseSync, path: string, setting: string, wanted: string | number) {
  const currentValue = Object.values(sqlite.prepare(`pragma ${setting}`).get() ?? {})[0];
  if (currentValue !== wanted) throw storeErrors.notDurable({ path, setting, found: currentValue, wanted });
}

/** SQLite's primary result codes (the low byte of the extended one). https://sqlite.org/rescode.html */
const code = { busy: 5, locked: 6, readonly: 8, ioerr: 10, corrupt: 11, full: 13, cantopen: 14, notadb: 26 };

function fromSqlite(thrown: unknown, path: string): unknown {
  if (thrown instanceof UserError || !(thrown instanceof Error) || !("errcode" in thrown)) return thrown;
  const reason = messageOf(thrown);
  const cause = { cause: thrown };
  const target = freezeTargetOf(thrown);
  if (target !== undefined) return storeErrors.moved({ path, target }, cause);
  switch (Number(thrown.errcode) & 0xff) {
    case code.busy:
    case code.locked:
      return storeErrors.busy({ reason: `another process holds ${path}` }, cause);
    case code.full:
      return storeErrors.diskFull({ what: path }, cause);
    case code.readonly:
    case code.ioerr:
      return storeErrors.notWritable({ what: path, reason }, cause);
    case code.corrupt:
    case code.notadb:
      return storeErrors.notADatabase({ path }, cause);
    case code.cantopen:
      return storeErrors.cannotOpen({ path, reason }, cause);
    default:
      return thrown;
  }
}
