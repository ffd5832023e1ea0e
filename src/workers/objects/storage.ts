import { join } from "node:path";
import { messageOf, type Clock, type Log } from "../../kernel/index.ts";
import { objectErrors } from "./errors.ts";
import { nextAlarm } from "./alarm-times.ts";
import { createObjectFolders, type SystemUser } from "./folders.ts";
import type { ListedObjects, ObjectsPage, ScriptObjects } from "./port.ts";
import { waitForLock } from "./process-lock.ts";

/**
 * The files of Durable Objects. workerd writes them; at most one process at a time has the files of a worker open.
 */
export interface ObjectStorage {
  /**
   * Opens the files of a worker for a new process, after the process that has them open has ended. Throws storageBusy.
   */
  open(request: OpenRequest): Promise<OpenObjects>;
  /** Deletes the namespaces of a worker; without ids, all. First ends the process that has them open. */
  remove(owner: string, namespaces?: readonly string[]): Promise<void>;
  /** The stored objects of a namespace. */
  list(owner: string, namespace: string, page: ObjectsPage): Promise<ListedObjects>;
  /**
   * Deletes the folders of namespaces that are not in the list, by owner. `read` is called after the folders have been
   * listed: a folder is created later than its namespace, so the list contains the namespaces of all existing folders.
   */
  sweep(read: () => Promise<ReadonlyMap<string, ReadonlySet<string>>>): Promise<void>;
  /** When the earliest alarm is due, in epoch milliseconds. Undefined: there is none, or a process runs them itself. */
  nextAlarm(objects: ScriptObjects): Promise<number | undefined>;
  /** Called when the process of a worker has ended. Returns the unsubscribe function. */
  onReleased(listener: (worker: ObjectWorker) => void): () => void;
}

/** The worker whose objects are stored. */
export interface ObjectWorker {
  /** Absent in `reelpost dev`. */
  account?: string | undefined;
  name: string;
  objects: ScriptObjects;
}

interface OpenRequest {
  worker: ObjectWorker;
  /** The user of the new process; undefined for the server's own. */
  user: SystemUser | undefined;
  /** Called when another process needs the files: end this process soon. */
  onWanted(): void;
}

export interface OpenObjects {
  /** The folder, for a process that cannot inherit its descriptor. */
  path: string;
  /** Its descriptor, on Linux. */
  fd: number | undefined;
  /** The file whose lock the process holds while it runs. */
  lock: string;
  /** Call when the process has ended. */
  release(): void;
}

interface Holder {
  worker: ObjectWorker | undefined;
  onWanted(): void;
  released: Promise<void>;
}

/** The storage below a data directory. */
export const openObjectStorage = (dataDirectory: string, { clock, log }: { clock: Clock; log: Log }): ObjectStorage =>
  createObjectStorage({ directory: join(dataDirectory, "durable-objects"), clock, log });

/** How long a new process waits for the end of the old one, including work that it completes. */
const WAIT_MS = 30_000;

export function createObjectStorage({
  directory,
  clock,
  log,
  waitMs = WAIT_MS,
}: {
  directory: string;
  clock: Clock;
  log: Log;
  waitMs?: number;
}): ObjectStorage {
  const folders = createObjectFolders(directory);
  const holders = new Map<string, Holder>();
  const listeners = new Set<(worker: ObjectWorker) => void>();
  /** Owners whose lock this server has seen free: afterwards only its own processes take it. */
  const seenFree = new Set<string>();

  /** Takes the place of the current holder. */
  async function take(owner: string, next: Pick<Holder, "worker" | "onWanted">): Promise<() => void> {
    const until = AbortSignal.timeout(waitMs);
    for (let holder = holders.get(owner); holder !== undefined; holder = holders.get(owner)) {
      holder.onWanted();
      await Promise.race([holder.released, clock.sleep(waitMs, until).catch(() => {})]);
      if (until.aborted && holders.get(owner) === holder)
        throw objectErrors.storageBusy({ script: next.worker?.name ?? owner });
    }
    const { promise: released, resolve } = Promise.withResolvers<void>();
    const mine: Holder = { ...next, released };
    holders.set(owner, mine);
    return () => {
      if (holders.get(owner) !== mine) return;
      holders.delete(owner);
      resolve();
      if (mine.worker === undefined) return;
      for (const listener of listeners) listener(mine.worker);
    };
  }

  async function remove(owner: string, namespaces?: readonly string[]) {
    const release = await take(owner, { worker: undefined, onWanted() {} });
    try {
      folders.remove(owner, namespaces);
    } finally {
      release();
    }
  }

  return {
    async open({ worker, user, onWanted }) {
      const { owner, namespaces } = worker.objects;
      const release = await take(owner, { worker, onWanted });
      try {
        const opened = folders.open(
          owner,
          namespaces.map(({ id }) => id),
          user,
        );
        // A killed server may have left a process behind.
        if (!seenFree.has(owner) && !(await waitForLock(opened.lock, waitMs))) {
          opened.close();
          throw objectErrors.storageBusy({ script: worker.name });
        }
        seenFree.add(owner);
        return {
          path: opened.path,
          fd: opened.fd,
          lock: opened.lock,
          release() {
            opened.close();
            release();
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
      const found = folders.owners().map((owner) => ({ owner, namespaces: folders.namespaces(owner) }));
      const known = await read();
      for (const { owner, namespaces } of found) {
        const kept = known.get(owner);
        const stale = kept === undefined ? undefined : namespaces.filter((id) => !kept.has(id));
        if (stale?.length === 0) continue;
        await remove(owner, stale).catch((err: unknown) =>
          log.warn({ err, owner }, "durable objects: failed to delete files, will retry"),
        );
      }
    },
    async nextAlarm({ owner, namespaces }) {
      if (holders.has(owner)) return undefined;
      let next: number | undefined;
      for (const { id } of namespaces) {
        try {
          const at = nextAlarm(folders.pathOf(owner, id));
          if (at !== undefined) next = Math.min(next ?? at, at);
        } catch (err) {
          // The process reads the alarms itself, so it is started to be safe.
          log.warn({ err, owner, namespace: id }, `durable objects: failed to read alarms: ${messageOf(err)}`);
          next = clock.now();
        }
      }
      return next;
    },
    onReleased(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
