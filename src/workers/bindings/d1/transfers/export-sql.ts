import { openConnection, type DatabaseConnection } from "../connection.ts";
import type { D1Limits } from "../limits.ts";
import { D1SqlError } from "../refusal.ts";

export interface ExportOptions {
  noSchema: boolean;
  noData: boolean;
  /** Empty: all tables. */
  tables: string[];
}

interface Table {
  name: string;
  sql: string;
}

const PIECE_BYTES = 64 * 1024;

/**
 * Exports a consistent snapshot of the database as SQL that recreates it: tables with their rows first, then dependent
 * objects. Values are SQLite's own literals, so numbers, bytes and texts stay exact. Throws D1SqlError for content that
 * cannot be exported.
 */
export function* exportSql(file: string, options: ExportOptions, limits: D1Limits): Generator<Uint8Array> {
  // A row written as SQL is longer than the row itself.
  const connection = openConnection(file, { ...limits, valueBytes: 4 * limits.valueBytes + 1_000_000 });
  try {
    connection.exec("begin");
    yield* toChunks(statementsOf(connection, options));
    connection.exec("rollback");
  } finally {
    connection.db.close();
  }
}

function* statementsOf(
  connection: DatabaseConnection,
  { noSchema, noData, tables: tableNames }: ExportOptions,
): Generator<Uint8Array> {
  const tables = tablesOf(connection, tableNames);
  yield Buffer.from("PRAGMA defer_foreign_keys=TRUE;\n");
  for (const { name, sql } of tables) {
    if (!noSchema) yield Buffer.from(`${sql};\n`);
    if (!noData) yield* rowsOf(connection, name);
  }
  if (!noData) yield* sequencesOf(connection, tables);
  if (noSchema) return;
  const names = new Set(tables.map(({ name }) => name.toLowerCase()));
  const rest = list(
    connection,
    "select tbl_name as name, sql, type from sqlite_master where type in ('index', 'trigger', 'view') and sql is not null order by rowid",
  );
  for (const { name, sql, type } of rest as unknown as (Table & { type: string })[]) {
    if (type === "view" ? tableNames.length === 0 : names.has(name.toLowerCase())) yield Buffer.from(`${sql};\n`);
  }
}

/** Returns the tables in order of creation: a table comes after those it references. */
function tablesOf(connection: DatabaseConnection, tableNames: string[]): Table[] {
  const allTables = list(
    connection,
    "select name, sql from sqlite_master where type = 'table' and substr(name, 1, 7) <> 'sqlite_' and lower(substr(name, 1, 4)) <> '_cf_' order by rowid",
  ) as unknown as Table[];
  const byName = new Map(allTables.map((table) => [table.name.toLowerCase(), table]));
  const missingName = tableNames.find((name) => !byName.has(name.toLowerCase()));
  if (missingName !== undefined) throw new D1SqlError(`no such table: ${missingName}: SQLITE_ERROR`);
  const selectedTables =
    tableNames.length === 0
      ? allTables
      : allTables.filter(({ name }) => tableNames.some((other) => other.toLowerCase() === name.toLowerCase()));
  if (selectedTables.some(({ sql }) => /^create\s+virtual\b/i.test(sql)))
    throw new D1SqlError("D1 Export error: cannot export databases with Virtual Tables (fts5)");
  return selectedTables;
}

function* rowsOf(connection: DatabaseConnection, table: string): Generator<Uint8Array> {
  // Values 2 and 3 of `hidden` mark generated columns, which take no value.
  const columns = (
    list(connection, `pragma table_xinfo(${quoted(table)})`) as unknown as { name: string; hidden: number }[]
  )
    .filter(({ hidden }) => hidden === 0)
    .map(({ name }) => quoted(name));
  const head = `INSERT INTO ${quoted(table)} (${columns.join(",")}) VALUES(`;
  yield* insertsOf(connection, head, columns, `from ${quoted(table)}`);
}

/** Returns the counters of AUTOINCREMENT tables: the highest id ever assigned may exceed the highest existing one. */
function* sequencesOf(connection: DatabaseConnection, tables: Table[]): Generator<Uint8Array> {
  const autoincrementTables = tables
    .filter(({ sql }) => /\bautoincrement\b/i.test(sql))
    .map(({ name }) => literal(name));
  if (
    autoincrementTables.length === 0 ||
    list(connection, "select 1 from sqlite_master where name = 'sqlite_sequence'").length === 0
  )
    return;
  const sequenceFilter = `sqlite_sequence where name in (${autoincrementTables.join(",")})`;
  yield Buffer.from(`DELETE FROM ${sequenceFilter};\n`);
  yield* insertsOf(
    connection,
    `INSERT INTO sqlite_sequence (name,seq) VALUES(`,
    ["name", "seq"],
    `from ${sequenceFilter}`,
  );
}

/** SQLite builds the whole statement as bytes: nothing is decoded on the way. */
function* insertsOf(
  { db, authorizer }: DatabaseConnection,
  head: string,
  columns: string[],
  from: string,
): Generator<Uint8Array> {
  // quote() cuts a text at a NUL.
  const values = columns.map(
    (column) =>
      `case when typeof(${column}) = 'text' and instr(${column}, char(0)) then 'CAST(X''' || hex(${column}) || ''' AS TEXT)' else quote(${column}) end`,
  );
  const rows = authorizer.trust(() => {
    const statement = db.prepare(
      `select cast(${[literal(head), values.join(" || ',' || "), literal(");\n")].join(" || ")} as blob) ${from}`,
    );
    statement.setReturnArrays(true);
    return statement.iterate();
  });
  for (const row of rows) yield (row as unknown as [Uint8Array])[0];
}

function* toChunks(parts: Iterable<Uint8Array>): Generator<Uint8Array> {
  let pendingParts: Uint8Array[] = [];
  let bytes = 0;
  for (const part of parts) {
    pendingParts.push(part);
    bytes += part.length;
    if (bytes < PIECE_BYTES) continue;
    yield Buffer.concat(pendingParts, bytes);
    pendingParts = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(pendingParts, bytes);
}

const list = ({ db, authorizer }: DatabaseConnection, sql: string) => authorizer.trust(() => db.prepare(sql).all());
const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;
