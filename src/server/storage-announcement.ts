import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lockOwner } from "./data-lock.ts";

/** How a command of the same user reaches the storage of a running development server. */
export interface StorageAnnouncement {
  /** The base URL of the API, ending in /client/v4. */
  url: string;
  token: string;
}

const fileIn = (directory: string) => join(directory, "storage.json");

/** Only the user of the server can read the file. */
export function announceStorage(directory: string, announcement: StorageAnnouncement): void {
  const file = fileIn(directory);
  writeFileSync(`${file}.new`, JSON.stringify({ ...announcement, pid: String(process.pid) }), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Call it before the lock is released, and after it was obtained: a server that was killed has left its file. */
export function withdrawStorage(directory: string): void {
  rmSync(fileIn(directory), { force: true });
}

/** The announcement of the process that holds the lock; undefined if it has none. */
export function announcedStorage(directory: string): StorageAnnouncement | undefined {
  try {
    const { pid, url, token } = JSON.parse(readFileSync(fileIn(directory), "utf8")) as Record<string, unknown>;
    if (pid !== lockOwner(directory) || typeof url !== "string" || typeof token !== "string") return undefined;
    return { url, token };
  } catch {
    return undefined;
  }
}
