import { type Kysely, sql } from "kysely";
import { Fault } from "../../kernel/index.ts";
import { storeErrors } from "../errors.ts";
import type { ColumnTypes, Db, Migration } from "./port.ts";

const columnTypes: Record<Db["dialect"], ColumnTypes> = {
  sqlite: { bytes: "blob", keyText: "text" },
  postgres: { bytes: "bytea", keyText: 'text collate "C"' },
};

/** An arbitrary lock id that no other program uses: "reelpost" as eight ASCII bytes. */
const MIGRATION_LOCK = "8243105103068197748";

interface Schema {
  schema_migrations: { name: string; applied_at: number };
}

/**
 * Applies pending migrations in list order, in one transaction, one process at a time. Returns their names. Throws
 * StoreError databaseNewer if the database contains a migration that is not in the list.
 */
export async function migrate(db: Db, migrations: readonly Migration[]): Promise<string[]> {
  const names = new Set(migrations.map(({ name }) => name));
  if (names.size !== migrations.length) throw new Fault("two migrations have the same name");
  return db.withoutTimeLimit(() =>
    db
      .tables<Schema>()
      .connection()
      .execute((connection) =>
        runExclusively(db, connection, () =>
          connection.transaction().execute(async (tx) => {
            await tx.schema
              .createTable("schema_migrations")
              .ifNotExists()
              .addColumn("name", "text", (column) => column.primaryKey())
              .addColumn("applied_at", "bigint", (column) => column.notNull())
              .execute();
            const appliedNames = new Set(
              (await tx.selectFrom("schema_migrations").select("name").execute()).map(({ name }) => name),
            );
            const unknownNames = [...appliedNames].filter((name) => !names.has(name));
            if (unknownNames.length > 0) throw storeErrors.databaseNewer({ unknown: unknownNames.join(", ") });
            const pendingMigrations = migrations.filter(({ name }) => !appliedNames.has(name));
            for (const { name, up } of pendingMigrations) {
              await up(tx, columnTypes[db.dialect]);
              await tx.insertInto("schema_migrations").values({ name, applied_at: Date.now() }).execute();
            }
            return pendingMigrations.map(({ name }) => name);
          }),
        ),
      ),
  );
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
