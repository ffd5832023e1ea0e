import { CompiledQuery, sql, type Kysely } from "kysely";
import { messageOf, UserError } from "../../kernel/index.ts";
import { storeErrors } from "../errors.ts";
import { migrate } from "./migrate.ts";
import type { Db, Migration } from "./port.ts";
import type { PortableValue, SnapshotTable } from "./row-snapshot.ts";
import { DATA_TABLES, POSTGRES_DATA_TABLES } from "./data-tables.ts";

interface LoadedRows {
  /** The migrations that were applied when the rows were written. */
  applied: readonly string[];
  /** Called again if the PostgreSQL transaction is retried. */
  tables(): AsyncIterable<SnapshotTable & { rows: AsyncIterable<PortableValue[]> }>;
}

/** The limits are 32,766 parameters per statement for SQLite and 65,535 for PostgreSQL. */
const MAX_PARAMETERS = 30_000;
const MAX_ROWS = 500;
/** Rows with large values are inserted in smaller batches. */
const MAX_BATCH_CHARACTERS = 4 * 1024 * 1024;

/**
 * Fills an empty database with the rows of a snapshot, in one transaction, and applies the migrations that are newer
 * than the snapshot. Resolves with the number of rows. Throws StoreError databaseNewer, databaseNotEmpty, badRow.
 */
export async function loadRows(
  db: Db,
  migrations: readonly Migration[],
  { applied, tables }: LoadedRows,
): Promise<number> {
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = applied.filter((name) => !known.has(name));
  if (unknown.length > 0) throw storeErrors.databaseNewer({ unknown: unknown.join(", ") });
  const wanted = new Set(applied);
  await expectEmpty(db);
  await migrate(
    db,
    migrations.filter(({ name }) => wanted.has(name)),
  );
  const rows = await db.withoutTimeLimit(() =>
    db.transaction<unknown, number>(async (tx) => {
      let count = 0;
      for await (const table of tables()) count += await insertTable(tx, db.dialect, table);
      return count;
    }),
  );
  await migrate(db, migrations);
  return rows;
}

async function expectEmpty(db: Db): Promise<void> {
  for (const name of await tableNames(db)) {
    if (name === "schema_migrations") continue;
    const { rows } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(db.tables());
    if (rows.length > 0) throw storeErrors.databaseNotEmpty({ table: name });
  }
}

async function tableNames(db: Db): Promise<string[]> {
  const found = sql.raw<{ name: string }>(db.dialect === "sqlite" ? DATA_TABLES : POSTGRES_DATA_TABLES);
  return (await found.execute(db.tables())).rows.map(({ name }) => name);
}

async function insertTable(
  tx: Kysely<unknown>,
  dialect: Db["dialect"],
  { name, columns, rows }: SnapshotTable & { rows: AsyncIterable<PortableValue[]> },
): Promise<number> {
  let count = 0;
  let batch: unknown[][] = [];
  let characters = 0;
  const maxRows = Math.max(1, Math.min(MAX_ROWS, Math.floor(MAX_PARAMETERS / columns.length)));
  const flush = async () => {
    if (batch.length === 0) return;
    try {
      await tx.executeQuery(CompiledQuery.raw(insertStatement(dialect, name, columns, batch.length), batch.flat()));
    } catch (err) {
      throw err instanceof UserError
        ? err
        : storeErrors.badRow({ table: name, reason: messageOf(err) }, { cause: err });
    }
    count += batch.length;
    batch = [];
    characters = 0;
  };
  for await (const row of rows) {
    if (row.length !== columns.length)
      throw storeErrors.badRow({ table: name, reason: `a row has ${row.length} values for ${columns.length} columns` });
    batch.push(row.map((value) => parameterOf(value, dialect)));
    for (const value of row)
      characters += typeof value === "string" ? value.length : value instanceof Object ? 1000 : 8;
    if (batch.length >= maxRows || characters > MAX_BATCH_CHARACTERS) await flush();
  }
  await flush();
  return count;
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

function insertStatement(dialect: Db["dialect"], table: string, columns: readonly string[], rows: number): string {
  let at = 0;
  const placeholder = () => (dialect === "sqlite" ? "?" : `$${++at}`);
  const tuples = Array.from({ length: rows }, () => `(${columns.map(placeholder).join(",")})`);
  return `insert into ${quoted(table)} (${columns.map(quoted).join(",")}) values ${tuples.join(",")}`;
}

function parameterOf(value: PortableValue, dialect: Db["dialect"]): unknown {
  if (value === null || typeof value !== "object") return value;
  if ("b" in value) return Buffer.from(value.b, "base64");
  if ("i" in value) return dialect === "sqlite" ? BigInt(value.i) : value.i;
  return Number(value.f);
}
