import { accessSync, constants, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { messageOf } from "../kernel/index.ts";
import { makeDurableFolder } from "../store/index.ts";
import { serverErrors } from "./errors.ts";

const LOCK = "lock";
/** Folder of several processes in the data directory, which their supervisor locks. */
const PROCESSES = "processes";

/** Creates the folder if necessary, with owner-only permissions. Throws dataDirectoryUnusable. */
export function openDataDirectory(directory: string): void {
  try {
    makeDurableFolder(directory);
    accessSync(directory, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw serverErrors.dataDirectoryUnusable({ directory, reason: messageOf(cause) }, { cause });
  }
}

/**
 * Locks the data directory for one server. The lock is SQLite's exclusive transaction on a separate file: the only file
 * lock available in Node that the kernel releases no matter how the process ends. Nothing else may open the file,
 * because closing it releases the locks of the whole process (fcntl(2), POSIX record locks). Throws UserError if
 * another server holds the lock. `isSupervised`: the supervisor of several processes has its own lock, which otherwise
 * excludes this one even while the primary process restarts.
 */
export function lockDataDirectory(directory: string, { isSupervised = false } = {}): { release(): void } {
  const lock = lockFolder(directory);
  const folder = join(directory, PROCESSES);
  if (isSupervised || !existsSync(join(folder, LOCK))) return lock;
  try {
    const supervisorLock = lockFolder(folder);
    return {
      release() {
        supervisorLock.release();
        lock.release();
      },
    };
  } catch (err) {
    lock.release();
    throw err;
  }
}

function lockFolder(directory: string): { release(): void } {
  const file = join(directory, LOCK);
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec("begin exclusive");
  } catch (cause) {
    lock.close();
    throw serverErrors.dataDirectoryBusy({ directory, pid: lockOwner(directory) }, { cause });
  }
  writeFileSync(`${file}.pid`, String(process.pid));
  return { release: () => lock.close() };
}

/** Id of the process that last locked the directory. */
export function lockOwner(directory: string): string {
  try {
    return readFileSync(join(directory, "lock.pid"), "utf8").trim();
  } catch {
    return "unknown";
  }
}
