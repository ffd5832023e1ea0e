import { copyFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { messageOf } from "../kernel/index.ts";

/** Copies all pages in one step: with several steps, SQLite starts over whenever another process writes. */
const ALL_PAGES = 2 ** 30;

/** Without this mode, SQLite creates the file if it does not exist. */
function existing(path: string): URL {
  const url = pathToFileURL(path);
  url.searchParams.set("mode", "rw");
  return url;
}

/**
 * Writes a consistent copy of a SQLite file that another process may be writing. A file that SQLite cannot read is
 * copied as it is. Resolves with the paths of the copies, by suffix, and with the reason if SQLite could not read it.
 */
export async function copySqlite(from: string, to: string): Promise<{ suffixes: string[]; problem?: string }> {
  await removeSqlite(to);
  try {
    // Not read-only: after a crash of the process that wrote it, SQLite has to rebuild the index of the write-ahead
    // log.
    const source = new DatabaseSync(existing(from), { timeout: 30_000 });
    try {
      await backup(source, to, { rate: ALL_PAGES });
    } finally {
      source.close();
    }
    return { suffixes: [""] };
  } catch (err) {
    await removeSqlite(to);
    const suffixes: string[] = [];
    for (const suffix of ["", "-wal"]) {
      const isCopied = await copyFile(from + suffix, to + suffix).then(
        () => true,
        (reason: NodeJS.ErrnoException) => {
          if (reason.code === "ENOENT") return false;
          throw reason;
        },
      );
      if (isCopied) suffixes.push(suffix);
    }
    return { suffixes, problem: messageOf(err) };
  }
}

export const removeSqlite = async (path: string): Promise<void> =>
  void (await Promise.all(["", "-wal", "-shm", "-journal"].map((suffix) => rm(path + suffix, { force: true }))));

/** Paths of the SQLite files below a folder, relative to it. */
export async function findSqliteFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(
    (err: NodeJS.ErrnoException) => {
      if (err.code === "ENOENT") return [];
      throw err;
    },
  );
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(".sqlite"))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/** Returns the first problem that SQLite finds in a file. */
export function sqliteProblem(path: string): string | undefined {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(existing(path), { defensive: true, timeout: 10_000 });
    const [row] = db.prepare("pragma integrity_check(1)").all();
    const found = String(Object.values(row ?? {})[0]);
    return found === "ok" ? undefined : found;
  } catch (err) {
    return messageOf(err);
  } finally {
    db?.close();
  }
}

/** Rebuilds the indexes of a file that no process is using. Returns the remaining problem. */
export function rebuildIndexes(path: string): string | undefined {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(existing(path), { timeout: 10_000 });
    db.exec("reindex");
  } catch (err) {
    return messageOf(err);
  } finally {
    db?.close();
  }
  return sqliteProblem(path);
}
