import { closeSync, fsync, mkdirSync, openSync, rmdirSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { codeOf } from "./fs-errors.ts";

/** The folders that objects lie in: made when needed, on the disk before an object in them is acknowledged, removed when long empty. */
export interface Folders {
  /** Makes `folder` and its parents; with `durable` their names survive a power cut. Cheap for a folder used before. */
  make(folder: string, durable: boolean): Promise<void>;
  /** Makes the names in `folder` durable: when it resolves, so are all names given before the call. */
  sync(folder: string): Promise<void>;
  /** It turned out to be gone: another process removed it. */
  forget(folder: string): void;
  /** Removes `folder` and its parents as far as they are empty. A folder in use stays: making it again would cost two fsyncs. */
  prune(folder: string): void;
}

const REMEMBERED = 10_000;
const IN_USE_MS = 600_000;

export function createFolders(root: string): Folders {
  /** Folders known to be on the disk, with the time of the last put. */
  const known = new Map<string, number>();
  const syncing = new Map<string, { running: Promise<void>; next?: Promise<void> }>();

  // An fsync that runs already may have begun before the caller's rename; the one after it serves everyone who comes meanwhile.
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
    async make(folder, durable) {
      if (!known.has(folder)) {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        if (!durable) return;
        // Who made the parents, and whether they were synced, is not known: another put may be between its mkdir and its fsync.
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
    // A folder that is gone has no names to keep.
    if (codeOf(err) === "ENOENT") return;
    throw err;
  }
  try {
    await fsyncAsync(fd);
  } finally {
    closeSync(fd);
  }
}
