import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "./errors.ts";

interface Listed {
  key: string;
  size: number;
  modified: Date;
}

const STATS_AT_ONCE = 32;

/** Files under `root` whose keys start with `prefix` and sort after `after`, in key order. */
export async function* listFiles(root: string, prefix: string, after = ""): AsyncGenerator<Listed> {
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  yield* walk(root, folder, { prefix, after });
}

async function* walk(root: string, folder: string, wanted: { prefix: string; after: string }): AsyncGenerator<Listed> {
  const names = (await entriesOf(join(root, folder)))
    .filter((name) => isWanted(folder + name, wanted))
    .sort(compareBytes);
  for (let at = 0; at < names.length;) {
    if (names[at]!.endsWith("/")) {
      yield* walk(root, folder + names[at++], wanted);
      continue;
    }
    const files: string[] = [];
    while (files.length < STATS_AT_ONCE && at < names.length && !names[at]!.endsWith("/"))
      files.push(folder + names[at++]);
    for (const listed of await Promise.all(files.map((key) => describe(root, key)))) if (listed) yield listed;
  }
}

/** Names in a folder; folders have a trailing '/', which gives their sort order among keys. */
async function entriesOf(path: string): Promise<string[]> {
  let entries: Dirent[];
  try {
    entries = await readdir(path, { withFileTypes: true });
  } catch (err) {
    if (codeOf(err) === "ENOENT" || codeOf(err) === "ENOTDIR") return [];
    throw err;
  }
  return entries
    .filter(({ name }) => !name.startsWith("."))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
}

function isWanted(path: string, { prefix, after }: { prefix: string; after: string }): boolean {
  if (!path.endsWith("/")) return path.startsWith(prefix) && path > after;
  // True if a key under the folder may match.
  return (path.startsWith(prefix) || prefix.startsWith(path)) && (path > after || after.startsWith(path));
}

// Keys are ASCII, so JavaScript's order is byte order.
const compareBytes = (a: string, b: string) => (a < b ? -1 : 1);

async function describe(root: string, key: string): Promise<Listed | undefined> {
  try {
    const { size, mtime } = await stat(join(root, key));
    return { key, size, modified: mtime };
  } catch (err) {
    if (codeOf(err) === "ENOENT") return undefined;
    throw err;
  }
}
