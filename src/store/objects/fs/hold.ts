import { linkSync, mkdirSync, rmSync, statSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Fault } from "../../../kernel/index.ts";
import { storeErrors } from "../../errors.ts";
import { codeOf, toFsStoreError } from "./errors.ts";
import { listFiles } from "./list.ts";

const FOLDER = ".held";
/** While this file is recent, a backup reads the objects. */
const MARK = "mark";
const FILES = "files";
const EXPIRES_MS = 120_000;
const HEARTBEAT_MS = 5_000;

/** Keeps objects that are deleted or replaced during a backup, under a second name in `.held`. */
export interface Holds {
  /** Call it before the file `name`, relative to the objects folder, is deleted, moved or replaced. */
  keep(name: string): void;
}

export function createHolds(root: string): Holds {
  const mark = join(root, FOLDER, MARK);
  return {
    keep(name) {
      if (!isRecent(mark)) return;
      const held = join(root, FOLDER, FILES, name);
      try {
        mkdirSync(dirname(held), { recursive: true, mode: 0o700 });
        linkSync(join(root, name), held);
      } catch (err) {
        // The file does not exist, or an earlier version of it is already held.
        if (["ENOENT", "ENOTDIR", "EEXIST"].includes(codeOf(err) ?? "")) return;
        // A full disk must not prevent a deletion. Without the mark, the backup fails and can be repeated.
        removeQuietly(mark);
      }
    },
  };
}

/** Deletes what an interrupted backup left behind. Does nothing while another process backs up the folder. */
export async function sweepHolds(root: string): Promise<void> {
  if (!isRecent(join(root, FOLDER, MARK))) await rm(join(root, FOLDER), { recursive: true, force: true });
}

function isRecent(mark: string): boolean {
  const found = statSync(mark, { throwIfNoEntry: false });
  return found !== undefined && Math.abs(Date.now() - found.mtimeMs) < EXPIRES_MS;
}

/** The objects of a folder as they were when the hold started, even if other processes delete or replace them. */
export interface ObjectHold {
  /**
   * All files, including incomplete objects, as paths relative to the folder. Files that were created since the start
   * of the hold may be missing.
   */
  list(): AsyncIterable<{ name: string; size: number; modifiedMs: number }>;
  /**
   * Resolves with the path from which to read a file. Call it again after opening the file: another path means that the
   * file was replaced in between.
   */
  pathOf(name: string): Promise<string>;
  /** Throws StoreError holdLost if a file may have been deleted since the start. */
  check(): void;
  close(): Promise<void>;
}

/** Starts a hold. Only one can exist at a time. Throws StoreError notWritable, diskFull. */
export function holdObjects(root: string): ObjectHold {
  const folder = join(root, FOLDER);
  const mark = join(folder, MARK);
  if (isRecent(mark)) throw storeErrors.holdInUse({ folder: root });
  try {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(folder, FILES), { recursive: true, mode: 0o700 });
    writeFileSync(mark, "", { mode: 0o600 });
  } catch (err) {
    throw toFsStoreError(err, folder);
  }
  const held = join(folder, FILES);
  let beatAt = performance.now();
  let isLost = false;
  const beat = () => {
    const now = performance.now();
    // After a longer pause, other processes may have considered the mark expired.
    if (now - beatAt > EXPIRES_MS / 2) isLost = true;
    beatAt = now;
    try {
      utimesSync(mark, new Date(), new Date());
    } catch {
      isLost = true;
    }
  };
  const timer = setInterval(beat, HEARTBEAT_MS).unref();

  return {
    async *list() {
      const seen = new Set<string>();
      for (const prefix of ["", ".partial/"]) {
        for await (const { key, size, modified } of listFiles(join(root, prefix), "")) {
          seen.add(prefix + key);
          yield { name: prefix + key, size, modifiedMs: modified.getTime() };
        }
      }
      for (const prefix of ["", ".partial/"])
        for await (const { key, size, modified } of listFiles(join(held, prefix), ""))
          if (!seen.has(prefix + key)) yield { name: prefix + key, size, modifiedMs: modified.getTime() };
    },
    async pathOf(name) {
      const path = join(held, name);
      const isHeld = await stat(path).then(
        (found) => found.isFile(),
        () => false,
      );
      return isHeld ? path : join(root, name);
    },
    check() {
      beat();
      if (isLost) throw storeErrors.holdLost({ folder: root });
    },
    async close() {
      clearInterval(timer);
      // Remove the mark first, so that no further files are held.
      removeQuietly(mark);
      await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch((err: unknown) => {
        throw new Fault(`failed to remove ${folder}`, { cause: err });
      });
    },
  };
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Already removed.
  }
}
