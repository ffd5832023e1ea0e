import type { SQLInputValue } from "node:sqlite";
import { openConnection, PAGE_BYTES } from "./connection.ts";
import type { D1Limits } from "./limits.ts";
import { createPreparedStatements } from "./prepared.ts";
import { D1SqlError, sqlErrorOf } from "./refusal.ts";
import { resultsToJson, type ResultsFormat } from "./results.ts";
import { splitStatements, type SqlStatement } from "./sql-tokens.ts";

/** One statement as sent by the client. `params` is not validated yet. */
export interface StatementInput {
  sql: string;
  params?: unknown;
}

export interface StatementOptions {
  format: ResultsFormat;
  /**
   * For exec(): each text may be a script of several statements or none, and binds no values. Otherwise each text is
   * exactly one statement.
   */
  script: boolean;
  /** For the API: even in a script, a text with a single statement binds values, and needs one value per parameter. */
  binds?: boolean;
}

/** One SQLite file, open in this process. All calls block. */
export interface OpenDatabase {
  /**
   * Runs all statements as one transaction, which is on the disk (fsync) when this returns. Returns the JSON that
   * workerd's D1 client reads: an array of results, or an error. Never throws for SQL errors.
   */
  run(input: StatementInput[], options: StatementOptions): string;
  close(): void;
}

const ONE_STATEMENT_TEXT = "A prepared SQL statement must contain only one statement.";
const PARAMETERS_TEXT = "Wrong number of parameter bindings for SQL query.";
const NO_STATEMENT_TEXT = "No SQL statements detected.";

export function openDatabase(path: string, limits: D1Limits): OpenDatabase {
  let connection = openConnection(path, limits);
  let prepared = createPreparedStatements(connection);

  function statementsOf(
    { sql, params }: StatementInput,
    { script, binds = !script }: StatementOptions,
  ): SqlStatement[] {
    const cachedStatement = prepared.cached(sql);
    const statements = cachedStatement ? [{ sql, parameters: cachedStatement.parameters }] : splitStatements(sql);
    const values = binds ? valuesOf(params).length : 0;
    if (statements.length > 1 && (!script || values > 0)) throw new D1SqlError(ONE_STATEMENT_TEXT);
    if (statements.length === 0 && !script) throw new D1SqlError(NO_STATEMENT_TEXT);
    if (binds && statements.some(({ parameters: { length } }) => length !== values && length <= limits.parameters))
      throw new D1SqlError(PARAMETERS_TEXT);
    return statements;
  }

  function execute(
    statement: SqlStatement,
    params: unknown,
    { format, budget }: { format: ResultsFormat; budget: number },
  ): string {
    try {
      if (Buffer.byteLength(statement.sql) > limits.statementBytes)
        throw new D1SqlError("statement too long: SQLITE_TOOBIG");
      const compiled = prepared.prepare(statement);
      const started = performance.now();
      const before = connection.counters();
      compiled.resetStats();
      const values = bindingsOf(statement.parameters, valuesOf(params));
      const result = resultsToJson(
        compiled.iterate(...(values as SQLInputValue[])),
        () => compiled.columns().map((column) => column.name),
        format,
        budget,
      );
      if (!result)
        throw new D1SqlError(
          `The result exceeds ${limits.resultBytes} bytes. Read it in pages, with LIMIT and a sort key.`,
        );
      const duration = Math.round((performance.now() - started) * 1e4) / 1e4;
      const after = connection.counters();
      const changes = after.changes - before.changes;
      const steps = compiled.stat("fullscanStep");
      const meta = {
        served_by: "reelpost",
        served_by_primary: true,
        timings: { sql_duration_ms: duration },
        duration,
        changes,
        last_row_id: after.lastRowId,
        changed_db: changes > 0 || after.pages !== before.pages,
        size_after: after.pages * PAGE_BYTES,
        // Node's build of SQLite counts only the steps of full scans, so this is a lower bound.
        rows_read: steps > 0 ? steps + 1 : result.rows,
        rows_written: changes,
        total_attempts: 1,
      };
      return `{"success":true,"results":${result.json},"meta":${JSON.stringify(meta)}}`;
    } catch (caughtError) {
      // When a failed statement is reused, iterate() throws the error of the previous run again.
      prepared.forget(statement.sql);
      throw sqlErrorOf(caughtError, statement.sql, connection);
    }
  }

  function transaction(work: () => string): string {
    connection.exec("begin");
    try {
      const result = work();
      try {
        connection.exec("commit");
      } catch (caughtError) {
        throw sqlErrorOf(caughtError, "", connection);
      }
      return result;
    } catch (thrown) {
      // SQLite rolls back automatically on a full disk and on RAISE(ROLLBACK).
      if (connection.db.isTransaction) connection.exec("rollback");
      throw thrown;
    }
  }

  function runAll(input: StatementInput[], options: StatementOptions): string {
    const { format, script, binds = !script } = options;
    const results: string[] = [];
    let budget = limits.resultBytes;
    let statementIndex = 0;
    try {
      return transaction(() => {
        for (; statementIndex < input.length; statementIndex++) {
          for (const statement of statementsOf(input[statementIndex]!, options)) {
            const result = execute(statement, binds ? input[statementIndex]!.params : [], { format, budget });
            budget -= result.length;
            results.push(result);
          }
        }
        if (results.length === 0) throw new D1SqlError(NO_STATEMENT_TEXT);
        return `[${results.join(",")}]`;
      });
    } catch (thrown) {
      if (!(thrown instanceof D1SqlError)) throw thrown;
      const failure = JSON.stringify({ success: false, error: thrown.message });
      // workerd's exec() finds the failing line by the position of the failure in the results.
      return script ? `[${`${EMPTY_RESULT},`.repeat(Math.min(statementIndex, input.length - 1))}${failure}]` : failure;
    }
  }

  return {
    run(input, options) {
      connection.authorizer.wantedTransaction = false;
      try {
        return runAll(input, options);
      } finally {
        // A pragma must not outlast the request that set it, however long this file stays open.
        if (connection.authorizer.changedSettings) reopen();
      }
    },
    close: () => connection.db.close(),
  };

  function reopen() {
    connection.db.close();
    connection = openConnection(path, limits);
    prepared = createPreparedStatements(connection);
  }
}

const EMPTY_RESULT = '{"success":true,"meta":{"duration":0}}';

const valuesOf = (params: unknown): unknown[] => (Array.isArray(params) ? params : []);

/** node:sqlite takes named parameters as an object, before the values of the positional ones. */
function bindingsOf(parameters: (string | null)[], values: unknown[]): unknown[] {
  const namedValues: Record<string, SQLInputValue> = {};
  const positionalValues: SQLInputValue[] = [];
  parameters.forEach((name, index) => {
    const value = toSqliteValue(values[index]);
    if (name === null) positionalValues.push(value);
    else namedValues[name] = value;
  });
  return Object.keys(namedValues).length > 0 ? [namedValues, ...positionalValues] : positionalValues;
}

/**
 * Byte strings arrive as arrays of numbers; the client has converted booleans to 0 and 1, and numbers stay doubles as
 * in D1.
 */
function toSqliteValue(value: unknown): SQLInputValue {
  if (value === null || value === undefined) return null;
  if (typeof value === "number" || typeof value === "string") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (Array.isArray(value) && value.every((byte) => typeof byte === "number"))
    return Uint8Array.from(value as number[]);
  throw new D1SqlError(`Type '${typeof value}' not supported for value '${String(value)}'`);
}
