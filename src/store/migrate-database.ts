import { migrate, readMigrationStatus, type MigrationStatus } from "./db/migrate.ts";
import type { Migration } from "./db/port.ts";
import { openPostgres, type PostgresOptions } from "./db/postgres.ts";
import { openSqlite } from "./db/sqlite.ts";

/**
 * Applies pending migrations; with `dryRun`, changes nothing. Resolves with the status before the call. Throws
 * StoreError databaseNewer, unreachable, cannotOpen.
 */
export async function migrateDatabase(
  database: { path: string } | PostgresOptions,
  migrations: readonly Migration[],
  { dryRun }: { dryRun: boolean },
): Promise<MigrationStatus> {
  const db = "path" in database ? openSqlite(database) : await openPostgres(database);
  try {
    const status = await readMigrationStatus(db, migrations);
    if (!dryRun) await migrate(db, migrations);
    return status;
  } finally {
    await db.close();
  }
}
