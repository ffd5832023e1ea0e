import { join } from "node:path";
import type { Settings } from "../kernel/settings.ts";
import { migrateDatabase } from "../store/index.ts";
import { lockDataDirectory, openDataDirectory } from "./data-lock.ts";
import { migrations } from "./migrations.ts";

/**
 * Applies the pending migrations of a server's database, or only lists them. With PostgreSQL, processes may be running;
 * with SQLite it throws dataDirectoryBusy if the server is running. Throws StoreError databaseNewer and unreachable.
 */
export async function migrateServer(
  { data_dir: dataDirectory, database }: Settings,
  { dryRun }: { dryRun: boolean },
): ReturnType<typeof migrateDatabase> {
  if (database.url !== "") return migrateDatabase(database, migrations, { dryRun });
  openDataDirectory(dataDirectory);
  const lock = lockDataDirectory(dataDirectory);
  try {
    return await migrateDatabase({ path: join(dataDirectory, "reelpost.sqlite") }, migrations, { dryRun });
  } finally {
    lock.release();
  }
}
