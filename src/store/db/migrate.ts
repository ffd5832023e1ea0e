import { setTimeout as sleep } from "node:timers/promises";
import { type Kysely, sql } from "kysely";
import { Fault } from "../../kernel/index.ts";
import { isStoreError, storeErrors } from "../errors.ts";
import type { ColumnTypes, Db, Migration } from "./port.ts";

const columnTypes: Record<Db["dialect"], ColumnTypes> = {
  sqlite: { bytes: "blob", keyText: "text" },
  postgres: { bytes: "bytea", keyText: 'text collate "C"' },
};

/** An arbitrary lock id that no other program uses: "reelpost" as eight ASCII bytes. */
const MIGRATION_LOCK = "8243105103068197748";
/**
 * A schema change waits for running transactions, and later transactions wait for the change. So it gives up after this
 * time, lets the others proceed, and retries.
 */
const LOCK_TIMEOUT_MS = 3_000;
const LOCK_ATTEMPTS = 20;

/** `older_versions` is `Migration.olderVersions`; null if the version that applied the migration had no such column. */
interface Schema {
  schema_migrations: { name: string; applied_at: number; older_versions: string | null };
}

const ANY = "any";
const NONE = "none";

/** The migrations of a database compared with those of this version, by name. */
export interface MigrationStatus {
  applied: string[];
  pending: string[];
  /** Migrations that a newer version applied and that are compatible with this one. */
  newer: string[];
}

/**
 * Applies pending migrations in list order, in one transaction, one process at a time. Returns their names. Throws
 * StoreError databaseNewer if a newer version applied a migration that this version does not work with.
 */
export async function migrate(db: Db, migrations: readonly Migration[]): Promise<string[]> {
  const names = new Set(migrations.map(({ name }) => name));
  if (names.size !== migrations.length) throw new Fault("two migrations have the same name");
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.withoutTimeLimit(() => applyPending(db, migrations));
    } catch (err) {
      if (db.dialect === "sqlite" || attempt === LOCK_ATTEMPTS || !isStoreError(err, "busy")) throw err;
      await sleep(Math.random() * 500);
    }
  }
}

/** Compares the migrations without changing the database. Throws StoreError databaseNewer like `migrate`. */
export async function readMigrationStatus(db: Db, migrations: readonly Migration[]): Promise<MigrationStatus> {
  const tables = db.tables<Schema>();
  const has = async (column: string) => await hasColumn(tables, db.dialect, column);
  if (!(await has("name"))) return { applied: [], pending: migrations.map(({ name }) => name), newer: [] };
  const rows = (await has("older_versions"))
    ? await tables.selectFrom("schema_migrations").select(["name", "older_versions"]).execute()
    : (await tables.selectFrom("schema_migrations").select("name").execute()).map((row) => ({
        ...row,
        older_versions: null,
      }));
  return compare(rows, migrations);
}

/** Throws StoreError databaseOlder if a migration of this version is pending, and databaseNewer like `migrate`. */
export async function requireMigrated(db: Db, migrations: readonly Migration[]): Promise<void> {
  const { pending } = await readMigrationStatus(db, migrations);
  if (pending.length > 0) throw storeErrors.databaseOlder({ pending: pending.join(", ") });
}

function applyPending(db: Db, migrations: readonly Migration[]): Promise<string[]> {
  return db
    .tables<Schema>()
    .connection()
    .execute((connection) =>
      runExclusively(db, connection, () =>
        connection.transaction().execute(async (tx) => {
          if (db.dialect === "postgres") await sql.raw(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`).execute(tx);
          await createMigrationsTable(tx, db.dialect);
          const rows = await tx.selectFrom("schema_migrations").select(["name", "older_versions"]).execute();
          const pending = new Set(compare(rows, migrations).pending);
          for (const { name, up, olderVersions = ANY } of migrations.filter((migration) =>
            pending.has(migration.name),
          )) {
            await up(tx, columnTypes[db.dialect]);
            const marks = typeof olderVersions === "string" ? olderVersions : olderVersions.since;
            await tx
              .insertInto("schema_migrations")
              .values({ name, applied_at: Date.now(), older_versions: marks })
              .execute();
          }
          return [...pending];
        }),
      ),
    );
}

function compare(
  rows: readonly Pick<Schema["schema_migrations"], "name" | "older_versions">[],
  migrations: readonly Migration[],
): MigrationStatus {
  const known = new Set(migrations.map(({ name }) => name));
  const applied = new Set(rows.map(({ name }) => name));
  const newer = rows.filter(({ name }) => !known.has(name));
  const unusable = newer.filter(
    ({ older_versions: older }) => older === null || older === NONE || (older !== ANY && !known.has(older)),
  );
  if (unusable.length > 0) throw storeErrors.databaseNewer({ unknown: unusable.map(({ name }) => name).join(", ") });
  return {
    applied: rows.map(({ name }) => name).filter((name) => known.has(name)),
    pending: migrations.map(({ name }) => name).filter((name) => !applied.has(name)),
    newer: newer.map(({ name }) => name),
  };
}

async function createMigrationsTable(tx: Kysely<Schema>, dialect: Db["dialect"]): Promise<void> {
  await tx.schema
    .createTable("schema_migrations")
    .ifNotExists()
    .addColumn("name", "text", (column) => column.primaryKey())
    .addColumn("applied_at", "bigint", (column) => column.notNull())
    .addColumn("older_versions", "text")
    .execute();
  if (!(await hasColumn(tx, dialect, "older_versions")))
    await tx.schema.alterTable("schema_migrations").addColumn("older_versions", "text").execute();
}

async function hasColumn(tx: Kysely<Schema>, dialect: Db["dialect"], column: string): Promise<boolean> {
  const found =
    dialect === "sqlite"
      ? sql`select 1 from pragma_table_info('schema_migrations') where name = ${column}`
      : sql`select 1 from information_schema.columns
            where table_schema = current_schema() and table_name = 'schema_migrations' and column_name = ${column}`;
  return (await found.execute(tx)).rows.length > 0;
}

/**
 * On SQLite the transaction excludes other processes. On PostgreSQL two processes could create the same table
 * concurrently, so a lock is acquired first.
 */
async function runExclusively<Result>(
  db: Db,
  connection: Kysely<Schema>,
  work: () => Promise<Result>,
): Promise<Result> {
  if (db.dialect === "sqlite") return work();
  await sql`select pg_advisory_lock(${sql.raw(MIGRATION_LOCK)})`.execute(connection);
  try {
    return await work();
  } finally {
    await sql`select pg_advisory_unlock(${sql.raw(MIGRATION_LOCK)})`.execute(connection);
  }
}
