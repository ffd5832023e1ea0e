import { openConnection, PAGE_BYTES, type DatabaseConnection } from "../connection.ts";
import type { D1Limits } from "../limits.ts";
import { D1SqlError, sqlErrorOf } from "../refusal.ts";
import { createStatementReader, StatementTooLong, type ReadStatement } from "./statement-reader.ts";

export interface ImportRequest {
  file: string;
  /** Size of the SQL in bytes. If fewer bytes arrive, the server has died, and the import is discarded. */
  size: number;
  /**
   * Identifies this import, 1 to 2^31-1: it is written into the file with the commit, so that an import retried after a
   * crash does not run twice.
   */
  mark: number;
}

/** The API's result of a finished import. */
export interface Imported {
  statements: number;
  rowsRead: number;
  rowsWritten: number;
  lastRowId: number;
  changedDb: boolean;
  /** Bytes of the database file. */
  sizeAfter: number;
  durationMs: number;
}

// Transaction pages that fit into this cache need not be written to the log before the commit.
const CACHE_KIB = 64 * 1024;

/**
 * Runs SQL that arrives in chunks as one transaction: all of it is in the database when this resolves, and nothing if
 * it rejects or the process ends. SQLite keeps uncommitted data in its write-ahead log, so memory does not grow with
 * the SQL. Rejects with D1SqlError for SQL errors.
 */
export async function importSql(
  sql: AsyncIterable<Uint8Array>,
  { file, size, mark }: ImportRequest,
  limits: D1Limits,
): Promise<Imported> {
  const started = performance.now();
  const connection = openConnection(file, { ...limits, statementBytes: limits.importStatementBytes });
  try {
    connection.exec(`pragma cache_size = -${CACHE_KIB}`);
    connection.exec("begin immediate");
    const before = connection.counters();
    // Already committed: only the counts are missing.
    const isImported = markOf(connection) === mark;
    const { statements, rowsRead } = await runAll(sql, size, connection, isImported);
    connection.exec(`pragma user_version = ${mark}`);
    commit(connection);
    const { changes, lastRowId, pages } = connection.counters();
    const rowsWritten = changes - before.changes;
    return {
      statements,
      rowsRead,
      rowsWritten,
      lastRowId,
      changedDb: rowsWritten > 0 || pages !== before.pages,
      sizeAfter: pages * PAGE_BYTES,
      durationMs: Math.round(performance.now() - started),
    };
  } catch (err) {
    if (connection.db.isTransaction) connection.exec("rollback");
    throw err;
  } finally {
    connection.db.close();
  }
}

async function runAll(
  sql: AsyncIterable<Uint8Array>,
  size: number,
  connection: DatabaseConnection,
  isCountOnly: boolean,
) {
  const { limits } = connection;
  const reader = createStatementReader(limits.importStatementBytes);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const total = { statements: 0, rowsRead: 0 };

  function run(statements: Iterable<ReadStatement>) {
    for (const statement of statements) {
      total.statements++;
      if (!isCountOnly) total.rowsRead += execute(statement, total.statements, connection);
    }
  }

  let bytes = 0;
  try {
    for await (const piece of sql) {
      bytes += piece.length;
      run(reader.read(decoder.decode(piece, { stream: true })));
    }
    if (bytes !== size) throw new Error(`the SQL ended after ${bytes} of ${size} bytes`);
    run(reader.read(decoder.decode()));
    run(reader.end());
  } catch (err) {
    if (err instanceof StatementTooLong)
      throw new D1SqlError(`${err.message}${placeOf(total.statements + 1, err.line)}`);
    if (err instanceof TypeError)
      throw new D1SqlError(`The file is not valid UTF-8 after statement ${total.statements}.`);
    throw err;
  }
  if (total.statements === 0) throw new D1SqlError("No SQL statements detected.");
  return total;
}

/** Returns a lower bound of the number of rows read. */
function execute({ sql, line }: ReadStatement, number: number, connection: DatabaseConnection): number {
  try {
    const statement = connection.db.prepare(sql) as ReturnType<DatabaseConnection["db"]["prepare"]> & {
      stat(counter: "fullscanStep"): number;
    };
    statement.setReturnArrays(true);
    statement.setReadBigInts(true);
    let rows = 0;
    for (const _ of statement.iterate()) rows++;
    const steps = statement.stat("fullscanStep");
    return steps > 0 ? steps + 1 : rows;
  } catch (err) {
    const sqlError = sqlErrorOf(err, sql, connection);
    throw sqlError instanceof D1SqlError ? new D1SqlError(`${sqlError.message}${placeOf(number, line)}`) : sqlError;
  }
}

function commit(connection: DatabaseConnection): void {
  try {
    connection.exec("commit");
  } catch (err) {
    // A foreign key whose check was deferred to the end is violated.
    throw sqlErrorOf(err, "", connection);
  }
}

const placeOf = (number: number, line: number) => ` (statement ${number}, line ${line})`;

const markOf = ({ db, authorizer }: DatabaseConnection) =>
  authorizer.trust(() => Number(Object.values(db.prepare("pragma user_version").get()!)[0]));
