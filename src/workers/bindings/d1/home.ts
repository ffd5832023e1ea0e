import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Ids } from "../../../kernel/index.ts";
import { makeDurableFolder } from "../../../store/index.ts";

const HOME_FILE = ".home";

/**
 * Persistent id of a directory of database files, created on first use. Only the process that has the files creates it,
 * before others read it.
 */
export function d1DirectoryId(directory: string, ids: Pick<Ids, "hex">): string {
  const path = join(directory, HOME_FILE);
  const existingHome = read(path);
  if (existingHome !== undefined) return existingHome;
  makeDurableFolder(directory);
  const home = ids.hex();
  const fd = openSync(`${path}.new`, "w", 0o600);
  try {
    writeSync(fd, `${home}\n`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${path}.new`, path);
  const folder = openSync(directory, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
  return home;
}

function read(path: string): string | undefined {
  try {
    return /^([0-9a-f]{32})\n$/.exec(readFileSync(path, "utf8"))?.[1];
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw err;
  }
}
