import { closeSync, fsync, mkdirSync, openSync, rmdirSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { codeOf } from "./fs-errors.ts";

/**
 * Object folders: created when needed, synced before an object in them is acknowledged, and removed after being empty
 * for a long time.
 */
export interface Folders {
  /**
   * Creates `folder` and its parents; with `durable` their names survive a power failure. Cheap for a recently used
   * folder.
   */
  create(folder: string, durable: boolean): Promise<void>;
  /** Makes all names in `folder` durable that were created before the call. */
  sync(folder: string): Promise<void>;
  /** Call this if the folder no longer exists: another process removed it. */
  forget(folder: string): void;
  /**
   * Removes `folder` and its empty parents. A recently used folder is kept, because creating it again would cost two
   * fsyncs.
   */
  prune(folder: string): void;
}

const REMEMBERED = 10_000;
const IN_USE_MS = 600_000;

export function createFolders(root: string): Folders {
  /** Folders known to be on disk, with the time of the last put. */
  const known = new Map<string, number>();
  const syncing = new Map<string, { running: Promise<void>; next?: Promise<void> }>();

  // A running fsync may have started before the caller's rename; the next fsync serves all waiting callers.
  function sync(folder: string): Promise<void> {
    const current = syncing.get(folder);
    if (current)
      return (current.next ??= current.running.then(
        () => sync(folder),
        () => sync(folder),
      ));
    const running = syncNow(folder).finally(() => {
      if (syncing.get(folder)?.running === running) syncing.delete(folder);
    });
    syncing.set(folder, { running });
    return running;
  }

  return {
    sync,
    async create(folder, durable) {
      if (!known.has(folder)) {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        if (!durable) return;
        // The parents may exist but not be synced yet: another put may be between mkdir and fsync.
        for (let child = folder; child !== root; child = dirname(child)) {
          await sync(dirname(child));
          if (known.has(dirname(child))) break;
        }
        if (known.size >= REMEMBERED) known.clear();
      }
      known.set(folder, Date.now());
    },
    forget: (folder) => void known.delete(folder),
    prune(folder) {
      for (
        let empty = folder;
        empty !== root && Date.now() - (known.get(empty) ?? 0) > IN_USE_MS;
        empty = dirname(empty)
      ) {
        try {
          rmdirSync(empty);
        } catch {
          return;
        }
        known.delete(empty);
      }
    },
  };
}

const fsyncAsync = promisify(fsync);

async function syncNow(folder: string): Promise<void> {
  let fd: number;
  try {
    fd = openSync(folder, "r");
  } catch (err) {
    // A missing folder has no names to sync.
    if (codeOf(err) === "ENOENT") return;
    throw err;
  }
  try {
    await fsyncAsync(fd);
  } finally {
    closeSync(fd);
  }
}
