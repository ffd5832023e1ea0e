import type { Clock, Log } from "../../kernel/index.ts";
import type { Db, Jobs, JobWorker, ObjectStore } from "../../store/index.ts";
import { findDeletionTime, listDeletedBefore, removeDeletion, type VideosExecutor } from "./videos-table.ts";

const DELETE_JOB = "stream.delete";

export interface Deletions {
  enqueue(uid: string): Promise<void>;
  onDeleted(listener: (uid: string) => Promise<void>): void;
  /** Enqueues overdue deletions again, in batches. */
  recover(): Promise<void>;
  start(): void;
  close(): Promise<void>;
}

/** A process that was encoding or receiving an upload may still write for this long after the row was deleted. */
const WRITE_GRACE_MS = 10 * 60_000;
/** Extra time for due jobs that are waiting in the queue. */
const QUEUE_MARGIN_MS = 60_000;
const BATCH = 500;
const LEASE_MS = 60_000;

/** A deleted video remains listed for deletion until all its data is deleted: first its row, then the rest by a job. */
export function createDeletions({
  db,
  tables,
  objects,
  jobs,
  clock,
  log,
}: {
  db: Db;
  tables: VideosExecutor;
  objects: ObjectStore;
  jobs: Jobs;
  clock: Clock;
  log: Log;
}): Deletions {
  const listeners: ((uid: string) => Promise<void>)[] = [];
  let worker: JobWorker | undefined;

  const enqueue = async (uid: string, runAt?: Date) =>
    void (await jobs.enqueue(DELETE_JOB, { uid }, { key: uid, priority: -1, ...(runAt && { runAt }) }));

  async function removeObjects(uid: string): Promise<void> {
    let keys: string[] = [];
    for await (const { key } of objects.list(`stream/${uid}/`)) {
      keys.push(key);
      if (keys.length < BATCH) continue;
      await objects.delete(keys);
      keys = [];
    }
    await objects.delete(keys);
    await objects.removeEmptyFolders(`stream/${uid}/`);
  }

  async function run(uid: string): Promise<void> {
    const deletionTime = await findDeletionTime(tables, uid);
    if (deletionTime === undefined) return;
    for (const listener of listeners) await listener(uid);
    await removeObjects(uid);
    const last = deletionTime + WRITE_GRACE_MS;
    // Deletes again at a time when no process can still be writing.
    if (clock.now() < last) return enqueue(uid, new Date(last));
    await removeDeletion(db, uid);
  }

  return {
    enqueue,
    onDeleted: (listener) => void listeners.push(listener),
    async recover() {
      // Most have a job: only overdue deletions may have lost it.
      for (const uid of await listDeletedBefore(tables, clock.now() - WRITE_GRACE_MS - QUEUE_MARGIN_MS, BATCH))
        await enqueue(uid);
    },
    start() {
      worker ??= jobs.work(DELETE_JOB, { concurrency: 2, leaseMs: LEASE_MS }, async ({ payload }) => {
        const { uid } = payload as { uid: string };
        await run(uid);
        log.debug({ video: uid }, "stream: files of a deleted video removed");
      });
    },
    close: async () => worker?.stop(),
  };
}
