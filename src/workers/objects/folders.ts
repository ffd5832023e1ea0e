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
import type { ListedObjects, ObjectsPage } from "./port.ts";

export interface SystemUser {
  uid: number;
  gid: number;
}

/** Folders named by the server; development uses other names, which `owners` does not list. */
const NAME = /^[0-9a-f]{32}$/;
const OBJECT_FILE = /^([0-9a-f]{64})\.sqlite$/;

interface OpenFolder {
  path: string;
  fd: number | undefined;
  lock: string;
  close(): void;
}

/**
 * The folders in which workerd stores objects: `<owner>/<namespace>/<object>.sqlite`. Only the user of the process can
 * open them; a process reaches its folder through a file descriptor, because the data directory is closed to it.
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
      giveTo(path, user);
      writeFileSync(lockOf(owner), "", { flag: "a", mode: 0o600 });
      const fd = process.platform === "linux" ? openSync(path, constants.O_RDONLY | constants.O_DIRECTORY) : undefined;
      return { path, fd, lock: lockOf(owner), close: () => fd !== undefined && closeSync(fd) };
    },
    remove(owner: string, namespaces?: readonly string[]) {
      const paths = namespaces?.map((id) => pathOf(owner, id)) ?? [pathOf(owner), lockOf(owner)];
      for (const path of paths) rmSync(path, { recursive: true, force: true });
    },
    owners: (): string[] => entries(directory).filter((name) => NAME.test(name)),
    namespaces: (owner: string): string[] => entries(pathOf(owner)).filter((name) => NAME.test(name)),
    async list(owner: string, namespace: string, { after = "", limit }: ObjectsPage): Promise<ListedObjects> {
      const folder = pathOf(owner, namespace);
      const all = (await readdir(folder).catch(ifMissing)).flatMap((name) => OBJECT_FILE.exec(name)?.[1] ?? []).sort();
      const rest = all.filter((id) => id > after);
      const ids = rest.slice(0, limit);
      const items = await Promise.all(ids.map(async (id) => ({ id, hasStoredData: await hasData(join(folder, id)) })));
      return { items, total: all.length, ...(rest.length > limit && { next: ids.at(-1)! }) };
    },
  };
}

/**
 * Makes `user` the only one who can open the folder. Its files belong to another user if the settings of users have
 * changed. The folder itself comes last, so that an interrupted change is repeated.
 */
function giveTo(folder: string, user: SystemUser | undefined): void {
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

/** A database that was only opened is empty until its log is written back. */
async function hasData(path: string): Promise<boolean> {
  const sizes = [".sqlite", ".sqlite-wal"].map((suffix) =>
    lstat(`${path}${suffix}`).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).some((size) => size > 0);
}

function entries(path: string): string[] {
  try {
    return readdirSync(path);
  } catch (err) {
    return ifMissing(err);
  }
}

function ifMissing(err: unknown): string[] {
  if ((err as NodeJS.ErrnoException).code === "ENOENT") return [];
  throw err;
}
