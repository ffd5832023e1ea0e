import { join, resolve } from "node:path";
import type { Basics } from "../kernel/index.ts";
import { migrate } from "./db/migrate.ts";
import type { Db, Migration } from "./db/port.ts";
import { openPostgres, type PostgresOptions } from "./db/postgres.ts";
import { openSqlite } from "./db/sqlite.ts";
import { createLocalEvents } from "./events/local.ts";
import { openPostgresEvents } from "./events/postgres.ts";
import { createJobs } from "./jobs/jobs.ts";
import { traceJobs } from "./jobs/trace-jobs.ts";
import { reclaimJobs } from "./jobs/jobs-table.ts";
import { openFsObjects } from "./objects/fs.ts";
import type { ObjectStore } from "./objects/port.ts";
import { parseObjectsUrl, type S3Location } from "./objects/s3-address.ts";
import { openS3Objects } from "./objects/s3.ts";
import type { Sweeps } from "./sweeps/port.ts";
import { createSharedSweeps, localSweeps } from "./sweeps/sweeps.ts";
import type { Store } from "./store.ts";

interface StoreOptions {
  /** The complete schema, in order of creation. */
  migrations: readonly Migration[];
  /** PostgreSQL. Default: SQLite in the data directory. */
  database?: PostgresOptions | undefined;
  /**
   * The objects folder, relative to the data directory, or the URL of a bucket, which takes precedence. Default: the
   * folder "objects".
   */
  objects?: { dir: string; url: string } | undefined;
  /** Runs before the migrations and may reject, so that an unsuitable process does not change the schema. */
  beforeMigrations?(db: Db): Promise<void>;
}

/** Folder for temporary files of objects in a bucket. */
const SCRATCH = "objects-scratch";
const SWEEP_MS = 6 * 3_600_000;

/**
 * Opens database, objects, events and jobs, and applies pending migrations. Throws StoreError: notADatabase, cannotOpen,
 * notDurable, databaseNewer, unreachable, badObjectsUrl.
 */
export async function openStore(
  directory: string,
  { migrations, database, objects = { dir: "objects", url: "" }, beforeMigrations }: StoreOptions,
  basics: Basics,
): Promise<Store> {
  const { lifecycle, clock, ids, log, tracing } = basics;
  const location = objects.url === "" ? undefined : parseObjectsUrl(objects.url);
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
  const sweeps = database === undefined ? localSweeps : createSharedSweeps({ db, clock, ids, log });
  const store = { db, events, jobs, sweeps };
  if (location === undefined)
    return { ...store, objects: await openFsObjects({ folder: resolve(directory, objects.dir) }) };
  return { ...store, ...(await openBucket({ location, scratch: join(directory, SCRATCH), db, sweeps }, basics)) };
}

async function openBucket(
  { location, scratch, db, sweeps }: { location: S3Location; scratch: string; db: Db; sweeps: Sweeps },
  { lifecycle, clock, log }: Basics,
): Promise<{ objects: ObjectStore; checkObjects(): Promise<void> }> {
  const objects = await openS3Objects({ location, db, scratch, clock, log });
  // Not at start: only a process that has passed the check of the storage identity may remove anything.
  const sweep = sweeps.every(SWEEP_MS, objects.sweep, { name: "objects: sweep of incomplete uploads", log });
  lifecycle.onStop("objects", async () => {
    await sweep.stop();
    objects.close();
  });
  return { objects, checkObjects: objects.check };
}
