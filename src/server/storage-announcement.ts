import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lockOwner } from "./data-lock.ts";

/** URL and token with which commands of the same user reach the storage of a running development server. */
export interface StorageAnnouncement {
  /** The base URL of the API, ending in /client/v4. */
  url: string;
  token: string;
}

const announcementFile = (directory: string) => join(directory, "storage.json");

/** Writes the announcement to a file that only the user of the server can read. */
export function announceStorage(directory: string, announcement: StorageAnnouncement): void {
  const file = announcementFile(directory);
  writeFileSync(`${file}.new`, JSON.stringify({ ...announcement, pid: String(process.pid) }), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Call it before releasing the lock, and after acquiring it: a killed server leaves its file behind. */
export function withdrawStorage(directory: string): void {
  rmSync(announcementFile(directory), { force: true });
}

/** Returns the announcement of the process that holds the lock. Undefined if it has made none. */
export function readAnnouncement(directory: string): StorageAnnouncement | undefined {
  try {
    const { pid, url, token } = JSON.parse(readFileSync(announcementFile(directory), "utf8")) as Record<
      string,
      unknown
    >;
    if (pid !== lockOwner(directory) || typeof url !== "string" || typeof token !== "string") return undefined;
    return { url, token };
  } catch {
    return undefined;
  }
}
