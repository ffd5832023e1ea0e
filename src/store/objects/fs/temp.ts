import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { readdir, stat, unlink } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

/** Temporary files for objects before their rename. */
export interface TempFiles {
  next(): string;
  /** Deletes files of dead processes. */
  sweep(): Promise<void>;
}

const ABANDONED_MS = 24 * 3_600_000;

/**
 * A temp file is named `<host>.<pid>.<run>.<n>`, so that other processes can determine whether its writer is running.
 */
export function createTempFiles(folder: string): TempFiles {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const host = hostname().replace(/[^A-Za-z0-9-]/g, "-") || "host";
  const run = randomBytes(6).toString("hex");
  let count = 0;

  async function isAbandoned(name: string): Promise<boolean> {
    const [ownerHost, pid] = name.split(".");
    const { mtimeMs } = await stat(join(folder, name));
    if (Date.now() - mtimeMs > ABANDONED_MS) return true;
    if (ownerHost !== host) return false;
    // In a container every run has the same pid: files older than this process are stale.
    if (Number(pid) === process.pid) return mtimeMs < Date.now() - process.uptime() * 1000 - 1000;
    return !isAlive(Number(pid));
  }

  return {
    next: () => join(folder, `${host}.${process.pid}.${run}.${++count}`),
    async sweep() {
      for (const name of await readdir(folder)) {
        try {
          if (await isAbandoned(name)) await unlink(join(folder, name));
        } catch {
          // The writer has just finished the file.
        }
      }
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === "EPERM";
  }
}
