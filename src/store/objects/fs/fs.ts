import { constants } from "node:fs";
import { access, readdir, rmdir, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { messageOf } from "../../../kernel/index.ts";
import { makeDurableFolder } from "../../durable-folder.ts";
import { storeErrors } from "../../errors.ts";
import { codeOf, toFsStoreError } from "./errors.ts";
import { createFolders, type Folders } from "./folders.ts";
import { createHolds, sweepHolds, type Holds } from "./hold.ts";
import { listFiles } from "./list.ts";
import { createPartials, sweepPartials } from "./partial.ts";
import { openObject } from "./read.ts";
import { createTempFiles, type TempFiles } from "./temp.ts";
import { createAdaptiveRead } from "./warm.ts";
import { linkObject, storeFile, writeObject } from "./write.ts";
import { checkKey, checkPrefix } from "../keys.ts";
import type { ObjectStore } from "../port.ts";

interface FsObjectsOptions {
  /**
   * The folder; created if missing. Objects are stored under their keys, files being written in `.tmp`, partial objects
   * in `.partial`.
   */
  folder: string;
}

/**
 * Objects as files. A put consists of: temp file, fdatasync, rename, fsync of the folder. Throws StoreError if the
 * folder is unusable.
 */
export async function openFsObjects({ folder }: FsObjectsOptions): Promise<ObjectStore> {
  const root = resolve(folder);
  const temps = await prepare(root);
  const folders = createFolders(root);
  const holds = createHolds(root);
  const partials = createPartials(root, { folders, holds });
  const warmRead = createAdaptiveRead();

  return {
    async put(key, body, options = {}) {
      checkKey(key);
      return writeObject({ key, path: join(root, key), temp: temps.next(), folders, holds }, body, options);
    },
    async putFile(key, path, options = {}) {
      checkKey(key);
      await storeFile({ key, path: join(root, key), temp: temps.next(), folders, holds }, path, options);
    },
    async open(key) {
      checkKey(key);
      return openObject(join(root, key), key, warmRead);
    },
    async copy(from, to) {
      checkKey(from);
      checkKey(to);
      await linkObject(
        { key: to, path: join(root, to), temp: temps.next(), folders, holds },
        { key: from, path: join(root, from) },
      );
    },
    async leaseFile(key) {
      checkKey(key);
      const path = join(root, key);
      return openObject(path, key) && { path, release: () => {} };
    },
    partial(key) {
      checkKey(key);
      return partials(key);
    },
    async delete(keys) {
      for (const key of keys) checkKey(key);
      for (const key of keys) await remove(join(root, key), key, holds);
      for (const parent of new Set(keys.map((key) => dirname(join(root, key))))) folders.prune(parent);
    },
    async removeEmptyFolders(prefix) {
      checkPrefix(prefix);
      if (prefix.endsWith("/")) await removeEmptyFolders(join(root, prefix), folders);
    },
    list(prefix, after) {
      checkPrefix(prefix);
      return listFiles(root, prefix, after);
    },
  };
}

async function prepare(root: string): Promise<TempFiles> {
  try {
    makeDurableFolder(root);
    await access(root, constants.R_OK | constants.W_OK | constants.X_OK);
    const temps = createTempFiles(join(root, ".tmp"));
    await temps.sweep();
    await sweepPartials(root);
    await sweepHolds(root);
    return temps;
  } catch (err) {
    throw storeErrors.cannotOpen({ path: root, reason: messageOf(err) }, { cause: err });
  }
}

/** Removes the deepest folders first. If a folder is removed during a put, the put creates it again (write.ts). */
async function removeEmptyFolders(folder: string, folders: Folders): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeEmptyFolders(join(folder, entry.name), folders);
  await rmdir(folder).then(
    () => folders.forget(resolve(folder)),
    () => {},
  );
}

async function remove(path: string, key: string, holds: Holds): Promise<void> {
  holds.keep(key);
  try {
    await unlink(path);
  } catch (err) {
    // The path is missing, is under an object, or is a folder: the object does not exist.
    if (!["ENOENT", "ENOTDIR", "EISDIR"].includes(codeOf(err) ?? "")) throw toFsStoreError(err, key);
  }
}
