import { closeSync, fsync, mkdirSync, openSync, rmdirSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { codeOf } from "./errors.ts";

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

const MAX_REMEMBERED = 10_000;
const IN_USE_MS = 600_000;

export function createFolders(root: string): Folders {
  /** Folders known to be on disk, with the time of the last put. */
  const knownFolders = new Map<string, number>();
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
      if (!knownFolders.has(folder)) {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        if (!durable) return;
        // The parents may exist but not be synced yet: another put may be between mkdir and fsync.
        for (let child = folder; child !== root; child = dirname(child)) {
          await sync(dirname(child));
          if (knownFolders.has(dirname(child))) break;
        }
        if (knownFolders.size >= MAX_REMEMBERED) knownFolders.clear();
      }
      knownFolders.set(folder, Date.now());
    },
    forget: (folder) => void knownFolders.delete(folder),
    prune(folder) {
      for (
        let emptyFolder = folder;
        emptyFolder !== root && Date.now() - (knownFolders.get(emptyFolder) ?? 0) > IN_USE_MS;
        emptyFolder = dirname(emptyFolder)
      ) {
        try {
          rmdirSync(emptyFolder);
        } catch {
          return;
        }
        knownFolders.delete(emptyFolder);
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
