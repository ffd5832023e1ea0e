import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { messageOf } from "../../kernel/index.ts";
import { isStoreError, storeErrors } from "../errors.ts";
import { parsePostgresUrl } from "./postgres-address.ts";
import { fromPostgres } from "./postgres-errors.ts";
import { createPrimaryConnector } from "./postgres-session.ts";
import { DATA_TABLES, POSTGRES_DATA_TABLES } from "./data-tables.ts";

/** A value as JSON. The objects are `{ i: digits }` for large integers, `{ b: base64 }` and `{ f: "Infinity" }`. */
export type PortableValue = null | string | number | { i: string } | { b: string } | { f: string };

export interface SnapshotTable {
  name: string;
  columns: string[];
}

/** All rows of a database at a single point in time, in a form that both engines can load. */
export interface RowSnapshot {
  dialect: "sqlite" | "postgres";
  /** The applied migrations, in order. */
  migrations: string[];
  /** All tables except the migrations table, by name. */
  tables: SnapshotTable[];
  /** In order of the primary key. */
  rows(table: SnapshotTable): AsyncIterable<PortableValue[]>;
  close(): Promise<void>;
}

/** A database file, or a PostgreSQL server. */
export type DatabaseAddress = { path: string } | { url: string };

const MIGRATIONS = "schema_migrations";
const FETCH_ROWS = 1000;

/**
 * Opens a snapshot of a database that other processes may be writing. Throws StoreError cannotOpen, notADatabase,
 * unreachable.
 */
export async function openRowSnapshot(address: DatabaseAddress): Promise<RowSnapshot> {
  return "path" in address ? openSqliteSnapshot(address.path) : openPostgresSnapshot(address.url);
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

function selectOf({ name, columns }: SnapshotTable, key: readonly string[]): string {
  const order = key.length === 0 ? "" : ` order by ${key.map(quoted).join(", ")}`;
  return `select ${columns.map(quoted).join(", ")} from ${quoted(name)}${order}`;
}

function openSqliteSnapshot(path: string): RowSnapshot {
  let db: DatabaseSync;
  try {
    // Not read-only: after a crash of the server, SQLite has to rebuild the index of the write-ahead log.
    const url = pathToFileURL(path);
    // Without this mode, SQLite creates the file if it does not exist.
    url.searchParams.set("mode", "rw");
    db = new DatabaseSync(url, { timeout: 10_000 });
    db.exec("pragma query_only = on; begin");
    // The first read determines which commits the transaction sees.
    db.prepare("select count(*) from sqlite_master").get();
  } catch (err) {
    throw Number((err as { errcode?: number }).errcode) === 26
      ? storeErrors.notADatabase({ path }, { cause: err })
      : storeErrors.cannotOpen({ path, reason: messageOf(err) }, { cause: err });
  }
  const all = (sql: string) => db.prepare(sql).all() as Record<string, string | number>[];
  const keys = new Map<string, string[]>();
  const tables = all(DATA_TABLES)
    .map(({ name }) => String(name))
    .sort(byName)
    .map((name) => {
      const columns = all(`pragma table_info(${quoted(name)})`);
      const key = columns.filter(({ pk }) => Number(pk) > 0).sort((a, b) => Number(a["pk"]) - Number(b["pk"]));
      keys.set(
        name,
        key.map((column) => String(column["name"])),
      );
      return { name, columns: columns.map((column) => String(column["name"])) };
    });
  return {
    dialect: "sqlite",
    migrations: tables.some(({ name }) => name === MIGRATIONS)
      ? all(`select name from ${MIGRATIONS} order by rowid`).map(({ name }) => String(name))
      : [],
    tables: tables.filter(({ name }) => name !== MIGRATIONS),
    async *rows(table) {
      const statement = db.prepare(selectOf(table, keys.get(table.name) ?? []));
      statement.setReadBigInts(true);
      statement.setReturnArrays(true);
      for (const row of statement.iterate() as Iterable<unknown>) yield (row as unknown[]).map(portable);
    },
    async close() {
      db.close();
    },
  };
}

async function openPostgresSnapshot(url: string): Promise<RowSnapshot> {
  const address = parsePostgresUrl(url);
  const session = await createPrimaryConnector(address).connect({ name: "reelpost backup", timeoutMs: 0 });
  const { client } = session;
  const all = async (sql: string, parameters: unknown[] = []) =>
    (await client.query<Record<string, string>>(sql, parameters)).rows;
  try {
    await session.removeTimeLimit();
    await client.query("begin transaction isolation level repeatable read, read only");
    const keys = new Map<string, string[]>();
    const tables: SnapshotTable[] = [];
    const names = await all(POSTGRES_DATA_TABLES);
    for (const name of names.map((row) => row["name"]!).sort(byName)) {
      const columns = await all(
        "select column_name as name from information_schema.columns where table_schema = current_schema() and table_name = $1 order by ordinal_position",
        [name],
      );
      const key = await all(
        `select a.attname as name from pg_index i cross join unnest(i.indkey) with ordinality k(n, at)
         join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.n
         where i.indisprimary and i.indrelid = to_regclass(quote_ident($1)) order by k.at`,
        [name],
      );
      keys.set(
        name,
        key.map((row) => row["name"]!),
      );
      tables.push({ name, columns: columns.map((row) => row["name"]!) });
    }
    const migrations = tables.some(({ name }) => name === MIGRATIONS)
      ? (await all(`select name from ${MIGRATIONS} order by applied_at`)).map((row) => row["name"]!)
      : [];
    return {
      dialect: "postgres",
      migrations,
      tables: tables.filter(({ name }) => name !== MIGRATIONS),
      async *rows(table) {
        await client.query(`declare rows no scroll cursor for ${selectOf(table, keys.get(table.name) ?? [])}`);
        for (;;) {
          const { rows, fields } = await client.query<unknown[]>({
            text: `fetch ${FETCH_ROWS} from rows`,
            rowMode: "array",
          });
          const isLarge = fields.map(({ dataTypeID }) => dataTypeID === 20);
          for (const row of rows)
            yield row.map((value, at) => portable(isLarge[at] && value !== null ? BigInt(value as string) : value));
          if (rows.length < FETCH_ROWS) break;
        }
        await client.query("close rows");
      },
      close: () => session.close(),
    };
  } catch (err) {
    await session.close();
    const known = fromPostgres(err, address.label);
    throw isStoreError(known)
      ? known
      : storeErrors.unreachable({ address: address.label, reason: messageOf(err) }, { cause: err });
  }
}

const byName = (a: string, b: string) => (a < b ? -1 : 1);

function portable(value: unknown): PortableValue {
  if (value === null || typeof value === "string") return value;
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : { i: value.toString() };
  if (typeof value === "number") return Number.isFinite(value) ? value : { f: String(value) };
  if (typeof value === "boolean") return Number(value);
  if (value instanceof Uint8Array) return { b: Buffer.from(value).toString("base64") };
  throw new TypeError(`cannot store a value of type ${typeof value} in a backup`);
}
