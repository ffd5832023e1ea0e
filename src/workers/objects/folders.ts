import {
  chmodSync,
  closeSync,
  constants,
  lchownSync,
  lstatSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { makeDurableFolder } from "../../store/index.ts";
import type { ObjectsPage, ObjectsPageRequest } from "./port.ts";

export interface SystemUser {
  uid: number;
  gid: number;
}

/** Directory names that the server generates. Development uses other names, which `owners` does not list. */
const FOLDER_NAME = /^[0-9a-f]{32}$/;
const OBJECT_FILE = /^([0-9a-f]{64})\.sqlite$/;

interface OpenFolder {
  path: string;
  fd: number | undefined;
  lock: string;
  close(): void;
}

/**
 * Creates the directories in which workerd stores objects: `<owner>/<namespace>/<object>.sqlite`. Only the user of the
 * process can open them. A process accesses its directory through a file descriptor, because it cannot traverse the
 * data directory.
 */
export function createObjectFolders(directory: string) {
  const pathOf = (owner: string, namespace = "") => join(directory, owner, namespace);
  const lockOf = (owner: string) => join(directory, `${owner}.lock`);

  return {
    pathOf,
    open(owner: string, namespaces: readonly string[], user: SystemUser | undefined): OpenFolder {
      const path = pathOf(owner);
      makeDurableFolder(path);
      for (const id of namespaces) makeDurableFolder(pathOf(owner, id));
      changeOwner(path, user);
      writeFileSync(lockOf(owner), "", { flag: "a", mode: 0o600 });
      const fd = process.platform === "linux" ? openSync(path, constants.O_RDONLY | constants.O_DIRECTORY) : undefined;
      return { path, fd, lock: lockOf(owner), close: () => fd !== undefined && closeSync(fd) };
    },
    remove(owner: string, namespaces?: readonly string[]) {
      const paths = namespaces?.map((id) => pathOf(owner, id)) ?? [pathOf(owner), lockOf(owner)];
      for (const path of paths) rmSync(path, { recursive: true, force: true });
    },
    owners: (): string[] => listNames(directory).filter((name) => FOLDER_NAME.test(name)),
    namespaces: (owner: string): string[] => listNames(pathOf(owner)).filter((name) => FOLDER_NAME.test(name)),
    async list(owner: string, namespace: string, { after = "", limit }: ObjectsPageRequest): Promise<ObjectsPage> {
      const folder = pathOf(owner, namespace);
      const allIds = (await readdir(folder).catch(emptyIfMissing))
        .flatMap((name) => OBJECT_FILE.exec(name)?.[1] ?? [])
        .sort();
      const followingIds = allIds.filter((id) => id > after);
      const pageIds = followingIds.slice(0, limit);
      const items = await Promise.all(
        pageIds.map(async (id) => ({ id, hasStoredData: await hasData(join(folder, id)) })),
      );
      return { items, total: allIds.length, ...(followingIds.length > limit && { next: pageIds.at(-1)! }) };
    },
  };
}

/**
 * Gives `user` exclusive access to the directory. Its files belong to another user if the user settings have changed.
 * Changes the directory itself last, so that an interrupted change is repeated.
 */
function changeOwner(folder: string, user: SystemUser | undefined): void {
  const uid = user?.uid ?? process.geteuid?.();
  const gid = user?.gid ?? process.getegid?.();
  if (uid === undefined || gid === undefined) return;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (lstatSync(folder).uid === uid && lstatSync(path).uid === uid) continue;
    if (lstatSync(path).isDirectory()) for (const file of readdirSync(path)) lchownSync(join(path, file), uid, gid);
    lchownSync(path, uid, gid);
  }
  if (lstatSync(folder).uid !== uid) lchownSync(folder, uid, gid);
  chmodSync(folder, 0o700);
}

/**
 * The main file of a new database is empty until the write-ahead log is checkpointed, so the log counts as data too.
 */
async function hasData(path: string): Promise<boolean> {
  const sizes = [".sqlite", ".sqlite-wal"].map((suffix) =>
    lstat(`${path}${suffix}`).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).some((size) => size > 0);
}

function listNames(path: string): string[] {
  try {
    return readdirSync(path);
  } catch (err) {
    return emptyIfMissing(err);
  }
}

function emptyIfMissing(err: unknown): string[] {
  if ((err as NodeJS.ErrnoException).code === "ENOENT") return [];
  throw err;
}
