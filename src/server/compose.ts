import { join, resolve } from "node:path";
import type { Basics } from "../kernel/index.ts";
import {
  createJobs,
  createLocalEvents,
  migrate,
  openFsObjects,
  openPostgres,
  openPostgresEvents,
  openSqlite,
  reclaimJobs,
  type Store,
} from "../store/index.ts";
import {
  createD1DatabaseList,
  createD1Databases,
  createD1Service,
  createD1Transfers,
  createKvService,
  createR2Service,
  d1Home,
  type BindingServices,
  type D1DatabaseList,
  type D1Service,
  type D1Transfers,
  type KvService,
  type R2Service,
} from "../workers/index.ts";
import { migrations } from "./migrations.ts";

export type { Basics, Store };

/** Storage outside the data directory. */
interface StorePlaces {
  database?: { url: string; connections: number } | undefined;
  /** A relative path is relative to the data directory. */
  objects?: string | undefined;
}

/** Database, objects and events: in one data directory, or in PostgreSQL if `database` is set. */
export async function openStore(
  directory: string,
  { lifecycle, clock, ids, log }: Basics,
  { database, objects = "objects" }: StorePlaces = {},
): Promise<Store> {
  const db =
    database === undefined ? openSqlite({ path: join(directory, "reelpost.sqlite") }) : await openPostgres(database);
  lifecycle.onStop("database", () => db.close());
  await migrate(db, migrations);
  // The data directory is locked, so no other process is running these jobs.
  if (database === undefined) await reclaimJobs(db);
  const events =
    database === undefined ? createLocalEvents({ log }) : await openPostgresEvents({ url: database.url, clock, log });
  lifecycle.onStop("events", () => events.close());
  const jobs = createJobs({ db, clock, ids, events, log });
  return { db, objects: await openFsObjects({ folder: resolve(directory, objects) }), events, jobs };
}

const SWEEP_MS = 10 * 60_000;

export interface Bindings extends Omit<BindingServices, "sendEmail" | "stream"> {
  kv: KvService;
  r2: R2Service;
  d1: D1Service & { list: D1DatabaseList; transfers: D1Transfers };
}

interface BindingOptions {
  /** `files`: D1 databases are in this data directory. `transfers`: imports and exports run in this process. Default: both. */
  d1?: { files: boolean; transfers: boolean };
}

/** Bindings of workers that use one store. */
export function composeBindings(
  { db, objects, events, jobs }: Store,
  directory: string,
  { clock, ids, log, lifecycle }: Basics,
  { d1: lives = { files: true, transfers: true } }: BindingOptions = {},
): Bindings {
  const kv = createKvService({ db, objects, clock, ids, log });
  const r2 = createR2Service({ db, objects, clock, ids, log });
  const d1 = composeD1();
  lifecycle.onStop("kv", async () => {
    await kv.namespaces.close();
    await kv.store.close();
  });
  lifecycle.onStop("r2", () => r2.buckets.close());
  lifecycle.onStop("d1", async () => {
    await d1.transfers.close();
    await d1.databases.close();
  });
  const sweepAll = () => {
    for (const { sweep } of [kv.store, kv.namespaces, r2.buckets, r2.bucketList, d1.list, d1.transfers])
      sweep().catch((err: unknown) => log.warn({ err }, "storage: sweep failed, will retry"));
  };
  // Also runs at start: a crash may have interrupted deletions.
  sweepAll();
  const sweeper = setInterval(sweepAll, SWEEP_MS).unref();
  lifecycle.onStop("sweeps", () => clearInterval(sweeper));
  return { kv, r2, d1 };

  function composeD1(): Bindings["d1"] {
    const folder = join(directory, "d1");
    const databases = createD1Databases({ directory: folder, clock, log });
    // A process without the database files leaves their deletion to the process that stores them.
    const list = createD1DatabaseList({ db, ...(lives.files && { databases }), clock, ids, log });
    const service = createD1Service({ directory: folder, databases, list, clock, log });
    return {
      ...service,
      list,
      transfers: createD1Transfers({
        db,
        objects,
        jobs,
        events,
        list,
        ...(lives.transfers && { databases, home: d1Home(folder, ids) }),
        clock,
        ids,
        log,
      }),
    };
  }
}
