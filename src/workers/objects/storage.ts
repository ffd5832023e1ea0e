import { join } from "node:path";
import { messageOf, type Clock, type Log } from "../../kernel/index.ts";
import { objectErrors } from "./errors.ts";
import { readNextAlarm } from "./alarm-times.ts";
import { createObjectFolders, type SystemUser } from "./folders.ts";
import type { ObjectsPage, ObjectsPageRequest, ScriptObjects } from "./port.ts";
import { waitForLock } from "./process-lock.ts";

/**
 * The files of Durable Objects, written by workerd. At most one process at a time has the files of a worker open.
 */
export interface ObjectStorage {
  /**
   * Opens the files of a worker for a new process, after ending any process that has them open. Throws storageBusy.
   */
  open(request: OpenRequest): Promise<OpenObjects>;
  /** Deletes namespaces of a worker (all of them by default), after ending any process that has their files open. */
  remove(owner: string, namespaces?: readonly string[]): Promise<void>;
  /** Lists the stored objects of a namespace. */
  list(owner: string, namespace: string, page: ObjectsPageRequest): Promise<ObjectsPage>;
  /**
   * Deletes the directories of namespaces that no longer exist. `readNamespaces` returns the namespace ids by owner. It
   * is called after the directories have been listed: a directory is created after its namespace, so the result
   * contains the namespaces of all valid directories.
   */
  sweep(readNamespaces: () => Promise<ReadonlyMap<string, ReadonlySet<string>>>): Promise<void>;
  /**
   * Resolves with the time when the earliest alarm is due, in epoch milliseconds; undefined if there are no alarms or a
   * process handles them.
   */
  nextAlarm(objects: ScriptObjects): Promise<number | undefined>;
  /**
   * Calls `listener` when the process of a worker has ended. Alarms must not start it again for `pauseMs`. Returns the
   * unsubscribe function.
   */
  onReleased(listener: (worker: ObjectWorker, pauseMs: number) => void): () => void;
}

/** A worker with stored objects. */
export interface ObjectWorker {
  /** Absent in `reelpost dev`. */
  account?: string | undefined;
  name: string;
  objects: ScriptObjects;
}

interface OpenRequest {
  worker: ObjectWorker;
  /** The system user of the new process; undefined if it runs as the user of the server. */
  user: SystemUser | undefined;
  /** Called when another process needs the files: the holder must end its process soon. */
  onReleaseRequested(): void;
}

export interface OpenObjects {
  /** Path of the directory, for a process that cannot inherit its descriptor. */
  path: string;
  /** Descriptor of the directory, on Linux. */
  fd: number | undefined;
  /** Path of the lock file, which the process locks while it runs. */
  lock: string;
  /** Releases the files; call when the process has ended. `pauseMs` is passed to the listeners of onReleased(). */
  release(options?: { pauseMs?: number }): void;
}

interface Holder {
  worker: ObjectWorker | undefined;
  onWanted(): void;
  released: Promise<void>;
}

/** Opens the storage in a data directory. */
export const openObjectStorage = (dataDirectory: string, { clock, log }: { clock: Clock; log: Log }): ObjectStorage =>
  createObjectStorage({ directory: join(dataDirectory, "durable-objects"), clock, log });

/** How long a new process waits for the old one to complete its work and end. */
const MAX_WAIT_MS = 30_000;

export function createObjectStorage({
  directory,
  clock,
  log,
  waitMs = MAX_WAIT_MS,
}: {
  directory: string;
  clock: Clock;
  log: Log;
  waitMs?: number;
}): ObjectStorage {
  const folders = createObjectFolders(directory);
  const holders = new Map<string, Holder>();
  const listeners = new Set<(worker: ObjectWorker, pauseMs: number) => void>();
  /**
   * Owners whose lock was found to be free since the server started: from then on, only this server's processes lock
   * it.
   */
  const knownFreeLocks = new Set<string>();

  /** Takes the files over from the current holder. */
  async function acquire(
    owner: string,
    next: Pick<Holder, "worker" | "onWanted">,
  ): Promise<(pauseMs?: number) => void> {
    const timeout = AbortSignal.timeout(waitMs);
    for (let holder = holders.get(owner); holder !== undefined; holder = holders.get(owner)) {
      holder.onWanted();
      await Promise.race([holder.released, clock.sleep(waitMs, timeout).catch(() => {})]);
      if (timeout.aborted && holders.get(owner) === holder)
        throw objectErrors.storageBusy({ script: next.worker?.name ?? owner });
    }
    const { promise: released, resolve } = Promise.withResolvers<void>();
    const ownHolder: Holder = { ...next, released };
    holders.set(owner, ownHolder);
    return (pauseMs = 0) => {
      if (holders.get(owner) !== ownHolder) return;
      holders.delete(owner);
      resolve();
      if (ownHolder.worker === undefined) return;
      for (const listener of listeners) listener(ownHolder.worker, pauseMs);
    };
  }

  async function remove(owner: string, namespaces?: readonly string[]) {
    const release = await acquire(owner, { worker: undefined, onWanted() {} });
    try {
      folders.remove(owner, namespaces);
    } finally {
      release();
    }
  }

  return {
    async open({ worker, user, onReleaseRequested: onWanted }) {
      const { owner, namespaces } = worker.objects;
      const release = await acquire(owner, { worker, onWanted });
      try {
        const openedFolder = folders.open(
          owner,
          namespaces.map(({ id }) => id),
          user,
        );
        // A killed server may have left a process running.
        if (!knownFreeLocks.has(owner) && !(await waitForLock(openedFolder.lock, waitMs))) {
          openedFolder.close();
          throw objectErrors.storageBusy({ script: worker.name });
        }
        knownFreeLocks.add(owner);
        return {
          path: openedFolder.path,
          fd: openedFolder.fd,
          lock: openedFolder.lock,
          release({ pauseMs } = {}) {
            openedFolder.close();
            release(pauseMs);
          },
        };
      } catch (err) {
        release();
        throw err;
      }
    },
    remove,
    list: folders.list,
    async sweep(read) {
      const storedFolders = folders.owners().map((owner) => ({ owner, namespaces: folders.namespaces(owner) }));
      const knownNamespaces = await read();
      for (const { owner, namespaces } of storedFolders) {
        const keptIds = knownNamespaces.get(owner);
        const staleIds = keptIds === undefined ? undefined : namespaces.filter((id) => !keptIds.has(id));
        if (staleIds?.length === 0) continue;
        await remove(owner, staleIds).catch((err: unknown) =>
          log.warn({ err, owner }, "durable objects: failed to delete files, will retry"),
        );
      }
    },
    async nextAlarm({ owner, namespaces }) {
      if (holders.has(owner)) return undefined;
      let earliestAlarm: number | undefined;
      for (const { id } of namespaces) {
        try {
          const alarmAt = readNextAlarm(folders.pathOf(owner, id));
          if (alarmAt !== undefined) earliestAlarm = Math.min(earliestAlarm ?? alarmAt, alarmAt);
        } catch (err) {
          // workerd reads the alarms itself, so it is safe to start the process immediately if they cannot be read
          // here.
          log.warn({ err, owner, namespace: id }, `durable objects: failed to read alarms: ${messageOf(err)}`);
          earliestAlarm = clock.now();
        }
      }
      return earliestAlarm;
    },
    onReleased(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
