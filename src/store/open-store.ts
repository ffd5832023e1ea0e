import { join, resolve } from "node:path";
import type { Basics } from "../kernel/index.ts";
import type { Metrics } from "../kernel/metrics.ts";
import { createLocalLimits } from "../kernel/rate-limits.ts";
import { requireMigrated, migrate } from "./db/migrate.ts";
import type { Db, Migration } from "./db/port.ts";
import { openPostgres, type PostgresOptions } from "./db/postgres.ts";
import { openSqlite } from "./db/sqlite.ts";
import { createLocalEvents } from "./events/local.ts";
import { openPostgresEvents } from "./events/postgres.ts";
import { createRelayedEvents, type EventChannel } from "./events/relayed.ts";
import { createJobs } from "./jobs/jobs.ts";
import { traceJobs } from "./jobs/trace-jobs.ts";
import { reclaimJobs } from "./jobs/jobs-table.ts";
import { cachedObjects } from "./objects/cache/cached.ts";
import { openFsObjects } from "./objects/fs/fs.ts";
import { SCRATCH } from "./open-objects.ts";
import type { ObjectStore } from "./objects/port.ts";
import { parseObjectsUrl, type S3Location } from "./objects/s3/address.ts";
import { openS3Objects } from "./objects/s3/s3.ts";
import type { Sweeps } from "./sweeps/port.ts";
import { createSharedLimits } from "./rate-limits/shared-limits.ts";
import { createSharedSweeps, localSweeps } from "./sweeps/sweeps.ts";
import type { Store } from "./store.ts";

interface StoreOptions {
  /** The complete schema, in order of creation. */
  migrations: readonly Migration[];
  /** Applies pending migrations. Default true; if false, a pending migration is an error. */
  migrate?: boolean | undefined;
  /** PostgreSQL. Default: SQLite in the data directory. */
  database?: PostgresOptions | undefined;
  /** A SQLite database that several processes of this machine use. */
  shared?: SharedDatabase | undefined;
  /**
   * The objects folder, relative to the data directory, or the URL of a bucket, which takes precedence. Default: the
   * folder "objects".
   */
  objects?: { dir: string; url: string; cache_gb?: number } | undefined;
  /** Receives metrics of the local cache of a bucket's objects. */
  metrics?: Metrics | undefined;
  /** Runs before the migrations. Rejects if this process must not change the schema. */
  beforeMigrations?(db: Db): Promise<void>;
  /** Returns the number of live processes that share the database. Default: assumes only a few. */
  liveProcesses?: (() => number) | undefined;
}

interface SharedDatabase {
  /** The database file. */
  file: string;
  channel: EventChannel;
  /** True if no other process has used the database since all of them stopped, so this process is the first. */
  isFirst: boolean;
}

/** Folder in the data directory for copies of a bucket's objects. */
const CACHE = "object-cache";
const COUNTS_SWEEP_MS = 10 * 60_000;
const UPLOADS_SWEEP_MS = 6 * 3_600_000;
const GIBIBYTE = 1024 ** 3;

/**
 * Opens database, objects, events and jobs, and applies pending migrations. Throws StoreError: notADatabase,
 * cannotOpen, notDurable, databaseNewer, databaseOlder, unreachable, badObjectsUrl.
 */
export async function openStore(
  directory: string,
  {
    migrations,
    migrate: applies = true,
    database,
    shared,
    objects = { dir: "objects", url: "" },
    metrics,
    beforeMigrations,
    liveProcesses = () => 1,
  }: StoreOptions,
  basics: Basics,
): Promise<Store> {
  const { lifecycle, clock, ids, log, tracing } = basics;
  const location = objects.url === "" ? undefined : parseObjectsUrl(objects.url);
  const db =
    database === undefined
      ? openSqlite({ path: shared?.file ?? join(directory, "reelpost.sqlite"), isShared: shared !== undefined })
      : await openPostgres(database);
  lifecycle.onStop("database", () => db.close());
  await beforeMigrations?.(db);
  await (applies ? migrate : requireMigrated)(db, migrations);
  // The data directory is locked, so no other process is running these jobs.
  if (database === undefined && shared?.isFirst !== false) await reclaimJobs(db);
  const events = await openEvents();
  lifecycle.onStop("events", () => events.close());
  const jobs = traceJobs(createJobs({ db, clock, ids, events, log }), tracing);
  const sweeps = db.isShared ? createSharedSweeps({ db, clock, ids, log }) : localSweeps;
  let limits = createLocalLimits(clock);
  if (db.isShared) {
    const sharedLimits = createSharedLimits({ db, clock, log, processes: liveProcesses });
    const sweep = sweeps.every(COUNTS_SWEEP_MS, sharedLimits.sweep, { name: "limits: sweep of counts", log });
    lifecycle.onStop("sweep of counts", () => sweep.stop());
    limits = sharedLimits;
  }
  const store = { db, events, jobs, sweeps, limits };
  if (location === undefined)
    return { ...store, objects: await openFsObjects({ folder: resolve(directory, objects.dir) }) };
  const remote = await openBucket({ location, scratch: join(directory, SCRATCH), db, sweeps, metrics }, basics);
  const cache = { dir: join(directory, CACHE), maxBytes: (objects.cache_gb ?? 1) * GIBIBYTE, log };
  return { ...store, objects: cachedObjects(remote, { ...cache, ...(metrics && { metrics }) }) };

  async function openEvents() {
    if (database !== undefined) return openPostgresEvents({ url: database.url, clock, log });
    return shared === undefined ? createLocalEvents({ log }) : createRelayedEvents({ channel: shared.channel, log });
  }
}

async function openBucket(
  {
    sweeps,
    ...options
  }: { location: S3Location; scratch: string; db: Db; sweeps: Sweeps; metrics: Metrics | undefined },
  { lifecycle, clock, log }: Basics,
): Promise<ObjectStore> {
  const remote = await openS3Objects({ ...options, clock, log });
  // Not at start: only a process that has passed the check of the storage identity may remove anything.
  const sweep = sweeps.every(UPLOADS_SWEEP_MS, remote.sweep, { name: "objects: sweep of incomplete uploads", log });
  lifecycle.onStop("objects", async () => {
    await sweep.stop();
    remote.close();
  });
  return remote;
}
