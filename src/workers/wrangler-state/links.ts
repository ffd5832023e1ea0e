import { constants, lstatSync, readdirSync, realpathSync, type Dirent } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { workerErrors } from "../errors.ts";

/** Access to files without following symbolic links. Paths are absolute and begin with the real path of a directory. */

const statOf = (path: string) => lstatSync(path, { throwIfNoEntry: false });

export const isLink = (path: string): boolean => statOf(path)?.isSymbolicLink() === true;

/** Returns the path without symbolic links; undefined if it does not exist. */
export const realPathOf = (path: string): string | undefined => (statOf(path) ? realpathSync(path) : undefined);

/** Throws wranglerStateLink if the path, or a directory in it, is a symbolic link. */
export function existsWithoutLinks(path: string): boolean {
  const stat = statOf(path);
  if (stat === undefined) return false;
  if (stat.isSymbolicLink() || realpathSync(path) !== path) throw workerErrors.wranglerStateLink({ path });
  return true;
}

/** Lists a directory; empty if it does not exist. Throws wranglerStateLink if it contains or is a symbolic link. */
export function listWithoutLinks(folder: string): Dirent[] {
  if (!existsWithoutLinks(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  const link = entries.find((entry) => entry.isSymbolicLink());
  if (link !== undefined) throw workerErrors.wranglerStateLink({ path: join(folder, link.name) });
  return entries;
}

/** Throws wranglerStateLink if the path is not a regular file. */
export function checkRegularFile(path: string): void {
  if (statOf(path)?.isFile() !== true) throw workerErrors.wranglerStateLink({ path });
}

/** Opens a regular file. Throws wranglerStateLink, even if a link replaces the path in the meantime. */
export async function openWithoutLinks(path: string): Promise<{ file: FileHandle; size: number }> {
  // Without O_NONBLOCK, opening a named pipe would wait for its writer.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((err: NodeJS.ErrnoException) => {
    throw err.code === "ELOOP" ? workerErrors.wranglerStateLink({ path }, { cause: err }) : err;
  });
  try {
    const opened = await file.stat();
    const named = existsWithoutLinks(path) ? statOf(path) : undefined;
    if (!opened.isFile() || named?.ino !== opened.ino || named.dev !== opened.dev)
      throw workerErrors.wranglerStateLink({ path });
    return { file, size: opened.size };
  } catch (err) {
    await file.close();
    throw err;
  }
}
