import { join, resolve } from "node:path";
import type { Basics } from "../kernel/index.ts";
import { migrate } from "./db/migrate.ts";
import type { Db, Migration } from "./db/port.ts";
import { openPostgres } from "./db/postgres.ts";
import { openSqlite } from "./db/sqlite.ts";
import { createLocalEvents } from "./events/local.ts";
import { openPostgresEvents } from "./events/postgres.ts";
import { createJobs } from "./jobs/jobs.ts";
import { traceJobs } from "./jobs/trace-jobs.ts";
import { reclaimJobs } from "./jobs/jobs-table.ts";
import { openFsObjects } from "./objects/fs.ts";
import type { Store } from "./store.ts";

interface StoreOptions {
  /** The complete schema, in order of creation. */
  migrations: readonly Migration[];
  /** PostgreSQL. Default: SQLite in the data directory. */
  database?: { url: string; connections: number } | undefined;
  /** The objects folder; a relative path is relative to the data directory. Default "objects". */
  objects?: string | undefined;
  /** Runs before the migrations and may reject, so that an unsuitable process does not change the schema. */
  beforeMigrations?(db: Db): Promise<void>;
}

/**
 * Opens database, objects, events and jobs, and applies pending migrations. Throws StoreError: notADatabase, cannotOpen,
 * notDurable, databaseNewer, unreachable.
 */
export async function openStore(
  directory: string,
  { migrations, database, objects = "objects", beforeMigrations }: StoreOptions,
  { lifecycle, clock, ids, log, tracing }: Basics,
): Promise<Store> {
  const db =
    database === undefined ? openSqlite({ path: join(directory, "reelpost.sqlite") }) : await openPostgres(database);
  lifecycle.onStop("database", () => db.close());
  await beforeMigrations?.(db);
  await migrate(db, migrations);
  // The data directory is locked, so no other process is running these jobs.
  if (database === undefined) await reclaimJobs(db);
  const events =
    database === undefined ? createLocalEvents({ log }) : await openPostgresEvents({ url: database.url, clock, log });
  lifecycle.onStop("events", () => events.close());
  const jobs = traceJobs(createJobs({ db, clock, ids, events, log }), tracing);
  return { db, objects: await openFsObjects({ folder: resolve(directory, objects) }), events, jobs };
}
