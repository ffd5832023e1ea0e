import { mkdtemp, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { silentLog, systemClock } from "../../kernel/index.ts";
import { listObjectFiles, openObjectsAt, openPostgres, openSqlite, type DatabaseAddress } from "../../store/index.ts";
import { syncFolder, writeDurable } from "../files.ts";

/** The objects of a server, which may be running. */
export interface CheckedObjects {
  list(): AsyncIterable<{ key: string; size: number; modified: Date }>;
  /** Undefined if the object is missing. */
  sizeOf(key: string): Promise<number | undefined>;
  textOf(key: string): Promise<string | undefined>;
  /** Moves an object to a file, whose folder exists. Does nothing if the object is missing. */
  moveTo(key: string, path: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens the objects in a folder, or in the bucket of an `s3://` URL. */
export const openCheckedObjects = (place: string, address: DatabaseAddress): Promise<CheckedObjects> | CheckedObjects =>
  place.startsWith("s3:") ? openBucket(place, address) : openFolder(place);

function openFolder(folder: string): CheckedObjects {
  return {
    list: () => listObjectFiles(folder, ""),
    sizeOf: (key) =>
      stat(join(folder, key)).then(
        ({ size }) => size,
        () => undefined,
      ),
    textOf: (key) => readFile(join(folder, key), "utf8").catch(() => undefined),
    moveTo: (key, path) => moveFile(join(folder, key), path),
    close: async () => {},
  };
}

/** Renames a file durably, unless it is missing. */
export async function moveFile(from: string, to: string): Promise<void> {
  await rename(from, to).catch((err: NodeJS.ErrnoException) => {
    if (err.code !== "ENOENT") throw err;
  });
  if ((await readdir(dirname(from)).catch(() => undefined)) !== undefined) await syncFolder(dirname(from));
  await syncFolder(dirname(to));
}

async function openBucket(url: string, address: DatabaseAddress): Promise<CheckedObjects> {
  // A separate folder, because a running server has temporary files in the one in its data directory.
  const directory = await mkdtemp(join(tmpdir(), "reelpost-check-"));
  const db = "path" in address ? openSqlite(address) : await openPostgres(address);
  const { objects, close } = await openObjectsAt(url, { directory, db, clock: systemClock, log: silentLog });
  return {
    list: () => objects.list(""),
    sizeOf: async (key) => (await objects.open(key))?.size,
    textOf: async (key) => (await (await objects.open(key))?.bytes())?.toString(),
    async moveTo(key, path) {
      const object = await objects.open(key);
      if (object === undefined) return;
      await writeDurable(path, object.read());
      await objects.delete([key]);
    },
    async close() {
      close();
      await db.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
