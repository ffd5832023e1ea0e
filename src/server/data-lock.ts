import { accessSync, constants, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { messageOf } from "../kernel/index.ts";
import { makeDurableFolder } from "../store/index.ts";
import { serverErrors } from "./errors.ts";

/** Makes the folder when it is not there yet, for its owner only. Throws dataDirectoryUnusable. */
export function openDataDirectory(directory: string): void {
  try {
    makeDurableFolder(directory);
    accessSync(directory, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw serverErrors.dataDirectoryUnusable({ directory, reason: messageOf(cause) }, { cause });
  }
}

/**
 * One server per data directory. SQLite's exclusive transaction on a file of its own is the lock, because it is the one file lock
 * that Node has and that the kernel takes back however the process ends: a killed server leaves nothing to clean up.
 * Nothing else may open the file: to close it gives up the locks of the whole process (fcntl(2), POSIX record locks).
 * Throws UserError when another process, or another server in this one, holds it.
 */
export function lockDataDirectory(directory: string): { release(): void } {
  const file = join(directory, "lock");
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec("begin exclusive");
  } catch (cause) {
    lock.close();
    throw serverErrors.dataDirectoryBusy({ directory, pid: ownerOf(file) }, { cause });
  }
  writeFileSync(`${file}.pid`, String(process.pid));
  return { release: () => lock.close() };
}

function ownerOf(file: string): string {
  try {
    return readFileSync(`${file}.pid`, "utf8").trim();
  } catch {
    return "unknown";
  }
}
