import { closeSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Creates a folder for durable files and syncs its parents: files in a folder are lost if its own directory entry is
 * not synced. Syncs the parent even if the folder exists: the process that created it may have died before syncing.
 */
export function makeDurableFolder(path: string): void {
  const folder = resolve(path);
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  const topFolder = first === undefined ? dirname(folder) : dirname(first);
  for (let parent = dirname(folder); ; parent = dirname(parent)) {
    syncFolder(parent, { made: first !== undefined });
    if (parent === topFolder || parent === dirname(parent)) return;
  }
}

function syncFolder(path: string, { made }: { made: boolean }): void {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (err) {
    // The parent belongs to another user and is not readable. The folder already existed, so its directory entry is not
    // new.
    if (!made && ["EACCES", "EPERM"].includes((err as NodeJS.ErrnoException).code ?? "")) return;
    throw err;
  }
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
